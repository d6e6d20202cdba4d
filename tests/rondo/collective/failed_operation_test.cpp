// An operation that fails halfway: the vectors are freed after the work that uses them.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/tests/support/skip_without_devices.h>
#include <rondo/tools/rondo/collective/session.h>

#ifdef __SIMT__
#include <simt/faults.h>

namespace rondo::program {
namespace {

TEST(FailedOperation, IsWaitedForBeforeTheVectorsAreFreed) {
  SKIP_WITHOUT_DEVICES(3);
  for (uint64_t copy = 1; copy < 40; copy += 1 + copy / 2) {
    LocalEngine engine({0, 1, 2}, {.slot_bytes = 1024, .bucket_bytes = 0});
    simt::set_free_waits(false);
    {
      const test::RandomOrder order(copy);  // nothing runs until the host waits
      simt::refuse_copy(copy);
      EXPECT_THROW(
          {
            Session session(engine, 40'000, {});
            session.measure({.algorithm = Algorithm::ring}, 10'000, false, 1);
          },
          Error);
      simt::refuse_copy(0);
    }
    simt::set_free_waits(true);
    for (const int device : engine.devices()) {
      const DeviceScope scope(device);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess)
          << "copy " << copy << ": " << simt::last_fault().message;
    }
  }
}

}  // namespace
}  // namespace rondo::program
#endif
