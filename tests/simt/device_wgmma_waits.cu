// A wait for a wgmma covers the calling warp: the operands may change after the waits of all four warps.
#include <rondo/kernels/core/ptx/bulk_copy.cuh>
#include <rondo/kernels/core/ptx/wgmma.cuh>

#include "device_testing.h"

using namespace simt_test;
using rondo::ptx::MatrixSwizzle;
using rondo::ptx::Tf32;
namespace ptx = rondo::ptx;

namespace {

std::string line(int number) { return place_text("device_wgmma_waits.cu", number); }

// What orders the change of an operand after the waits.
enum class Order { syncthreads, arrivals_of_all_warps, arrival_of_one_warp, own_wait };
enum class Change { load, store };

// One thread changes b, after two products. `copied`: what it writes, 256 bytes.
simt::Fault change_operand(Order order, Change change, unsigned changer) {
  alignas(16) static const unsigned copied[64] = {1};
  struct Shared {
    alignas(1024) unsigned a[512];
    unsigned b[64];
    ptx::Mbarrier full, read;
  };
  return run({1, 128, sizeof(Shared)}, [=] {
    Shared& s = shared<Shared>();
    const unsigned t = threadIdx.x;
    if (t == 0) {
      ptx::mbarrier_init(&s.full, 1);
      ptx::mbarrier_init(&s.read, order == Order::arrivals_of_all_warps ? 4 : 1);
      ptx::mbarrier_init_fence();
    }
    for (unsigned i = t; i < 512; i += 128) s.a[i] = 0;
    if (t < 64) s.b[t] = 0;
    ptx::async_proxy_fence();
    __syncthreads();
    float d[4];
    for (int i = 0; i < 2; ++i) {
      ptx::wgmma_fence();
      ptx::wgmma<Tf32, 8>(d, ptx::descriptor({s.a, 128, 256, MatrixSwizzle::none}),
                          ptx::descriptor({s.b, 128, 256, MatrixSwizzle::none}), i != 0);
      ptx::wgmma_commit();
      ptx::wgmma_wait<0>();
    }
    if (order == Order::syncthreads) __syncthreads();
    if (order == Order::arrivals_of_all_warps && t % 32 == 7) ptx::mbarrier_arrive(&s.read);
    if (order == Order::arrival_of_one_warp && t == changer) ptx::mbarrier_arrive(&s.read);
    if (t != changer) return;
    if (order == Order::arrivals_of_all_warps || order == Order::arrival_of_one_warp)
      ptx::mbarrier_wait(&s.read, 0);
    if (change == Change::load) {
      ptx::mbarrier_arrive_expect_tx(&s.full, 256);
      ptx::bulk_load(s.b, copied, 256, &s.full);
      ptx::mbarrier_wait(&s.full, 0);
    } else {
      s.b[3] = 1;
    }
  });
}
constexpr int kProductLine = __LINE__ - 20, kLoadLine = __LINE__ - 7;

TEST(WgmmaWaits, OperandsMayChangeAfterTheWaitsOfAllWarps) {
  for (const bool late : {false, true})
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Seed scope(seed);
      simt::set_late_copies(late);
      for (const Order order : {Order::syncthreads, Order::arrivals_of_all_warps})
        for (const Change change : {Change::load, Change::store})
          for (const unsigned changer : {0u, 70u}) {
            const simt::Fault fault = change_operand(order, change, changer);
            EXPECT_EQ(fault.error, cudaSuccess) << fault.message;
          }
      simt::set_late_copies(false);
    }
}

// Without a seed the last thread to arrive at the wait, 127, returns first, then 0.
TEST(WgmmaWaits, AChangeAfterTheWaitOfOneWarpIsNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const Order order : {Order::own_wait, Order::arrival_of_one_warp})
      for (const unsigned changer : {0u, 127u}) {
        expect_fault(change_operand(order, Change::load, changer),
                     {"cp.async.bulk at ", line(kLoadLine), "overwrites b of the wgmma.mma_async at ",
                      line(kProductLine), "which not all four warps have waited for"});
        expect_fault(change_operand(order, Change::store, changer),
                     {"wgmma.mma_async at ", line(kProductLine),
                      "reads b from byte 2060 of shared memory, which was written before the waits of all"});
      }
  }
  simt::set_late_copies(false);
}

}  // namespace
