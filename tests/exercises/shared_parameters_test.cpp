// An exercise: parameters that are shared instead of copied.
//
// A replica needs parameters of its own. In Python `[parameters] * 2` is a list with the same array twice. In
// C++ the same happens with two views, or two shared pointers, of one buffer. Every rank then updates the
// same memory, so n ranks take n steps at once.
//
// Questions.
//   1. Why do the replicas always compare equal?
//   2. What happens with a learning rate that is n times smaller, and why is the mistake then still one?
//   3. Which ranks must be on different devices for the mistake to be a fault?

#include <gtest/gtest.h>

#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/tests/support/failed_device.h>
#include <rondo/tests/support/skip_without_devices.h>

#include <cuda_runtime.h>  // the executor's defines __SIMT__

#include <memory>
#include <vector>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo::test {
namespace {

using Parameters = std::shared_ptr<Buffer<float>>;

// Wrong on purpose: copies the pointer.
std::vector<Parameters> shared_parameters(const std::vector<float>& initial,
                                          const std::vector<int>& devices) {
  const DeviceScope scope(devices[0]);
  return std::vector<Parameters>(devices.size(), std::make_shared<Buffer<float>>(initial));
}

// Copies the values to memory of each rank's device.
std::vector<Parameters> copied_parameters(const std::vector<float>& initial,
                                          const std::vector<int>& devices) {
  std::vector<Parameters> replicas;
  for (const int device : devices) {
    const DeviceScope scope(device);
    replicas.push_back(std::make_shared<Buffer<float>>(initial));
  }
  return replicas;
}

// One step of SGD of each rank with learning rate 1 and the gradient 3, which the all-reduce has given to
// every rank. Returns the error of the first rank that fails.
cudaError_t step(const std::vector<Parameters>& replicas, const std::vector<int>& devices) {
  for (size_t rank = 0; rank < replicas.size(); ++rank) {
    const DeviceScope scope(devices[rank]);
    const Stream stream;
    const Buffer<float> gradient(std::vector<float>{3}), learning_rate(std::vector<float>{1});
    throw_if_error(
        sgd_update({replicas[rank]->data(), 1}, {}, {gradient.data(), 1}, learning_rate.data(), {}, stream));
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

constexpr float kInitial = 10;
const std::vector<int> kOneDevice = {0, 0};

TEST(SharedParameters, TakeTheStepOfEveryRank) {
  const std::vector<Parameters> replicas = shared_parameters({kInitial}, kOneDevice);
  ASSERT_EQ(step(replicas, kOneDevice), cudaSuccess);
  show("parameter ", replicas[0]->download()[0], " instead of ", kInitial - 3);
  EXPECT_EQ(replicas[0]->download()[0], kInitial - 2 * 3);
  EXPECT_EQ(replicas[0]->download(), replicas[1]->download()) << "comparing replicas shows nothing";
}

TEST(SharedParameters, CopiesTakeOneStepEach) {
  const std::vector<Parameters> replicas = copied_parameters({kInitial}, kOneDevice);
  ASSERT_EQ(step(replicas, kOneDevice), cudaSuccess);
  EXPECT_EQ(replicas[0]->download()[0], kInitial - 3);
  EXPECT_EQ(replicas[1]->download()[0], kInitial - 3);
}

#ifdef __SIMT__

// On two devices without peer access, rank 1 has a pointer that its device cannot use.
TEST(SharedParameters, AreAFaultOnAnotherDevice) {
  SKIP_WITHOUT_DEVICES(2);
  const std::vector<int> devices = {0, 1};
  const std::vector<Parameters> replicas = shared_parameters({kInitial}, devices);
  EXPECT_EQ(step(replicas, devices), cudaErrorIllegalAddress);
  EXPECT_NE(simt::last_fault().message.find("memory of device 0"), std::string::npos)
      << simt::last_fault().message;
  EXPECT_EQ(reset_device(1), cudaSuccess);
}

TEST(SharedParameters, CopiesWorkOnTwoDevices) {
  SKIP_WITHOUT_DEVICES(2);
  const std::vector<int> devices = {0, 1};
  const std::vector<Parameters> replicas = copied_parameters({kInitial}, devices);
  EXPECT_EQ(step(replicas, devices), cudaSuccess);
  for (const Parameters& replica : replicas) EXPECT_EQ(replica->download()[0], kInitial - 3);
}

#endif

}  // namespace
}  // namespace rondo::test
