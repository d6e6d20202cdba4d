// The bytes that the exchange of gradients sends from device to device, by type and algorithm. The devices
// have no peer access, so all algorithms send by copies. The linker replaces cudaMemcpyPeerAsync() (--wrap,
// CMakeLists.txt), under the mangled name from the executor's headers.
#include <gtest/gtest.h>

#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/peer_links.h>

cudaError_t real_copy(void* to, int to_device, const void* from, int from_device, size_t bytes,
                      cudaStream_t stream) asm("__real__Z19cudaMemcpyPeerAsyncPviPKvimP11CUstream_st");
cudaError_t copy_wrapped(void* to, int to_device, const void* from, int from_device, size_t bytes,
                         cudaStream_t stream) asm("__wrap__Z19cudaMemcpyPeerAsyncPviPKvimP11CUstream_st");

namespace {
int64_t sent = 0;
}  // namespace

cudaError_t copy_wrapped(void* to, int to_device, const void* from, int from_device, size_t bytes,
                         cudaStream_t stream) {
  if (to_device != from_device) sent += static_cast<int64_t>(bytes);
  return real_copy(to, to_device, from, from_device, bytes, stream);
}

namespace rondo::nn {
namespace {

using test::kSmallInput;

class ExchangedBytes : public testing::Test {
 protected:
  ExchangedBytes() { test::set_all_links(simt::PeerAccess::absent); }
  ~ExchangedBytes() override { test::set_all_links(simt::PeerAccess::works); }

  // Of a step, for each float of the gradients.
  static double for_each_gradient(int ranks, Algorithm algorithm, DType reduce_dtype, int group_size = 0) {
    DataParallelOptions options = test::small_options(ranks);
    options.algorithm = algorithm;
    options.reduce_dtype = reduce_dtype;
    options.group_size = group_size;
    options.sync_batch_norm = false;
    DataParallel model(test::small_network(), kSmallInput, options);
    Sgd sgd(model);
    sent = 0;  // the first step: its copies are enqueued and not recorded
    model.train_step(test::normal_values(12 * kSmallInput.size(), 1), test::some_labels(12, 4), sgd);
    model.streams().synchronize();
    return static_cast<double>(sent) / static_cast<double>(model.graph().parameter_arena_size());
  }
};

TEST_F(ExchangedBytes, Bfloat16HasHalf) {
  for (const int n : {2, 3, 4}) {
    if (device_count() < n) GTEST_SKIP() << "there are " << device_count() << " devices";
    SCOPED_TRACE(concat(n, " devices"));
    for (const Algorithm algorithm : {Algorithm::direct, Algorithm::root}) {
      EXPECT_EQ(for_each_gradient(n, algorithm, DType::float32), 2 * (n - 1) * 4) << name_of(algorithm);
      EXPECT_EQ(for_each_gradient(n, algorithm, DType::bfloat16), 2 * (n - 1) * 2) << name_of(algorithm);
    }
    // A rank sends its own gradients first, then n - 2 partial sums in fp32, then n - 1 finished sums.
    EXPECT_EQ(for_each_gradient(n, Algorithm::ring, DType::float32), 2 * (n - 1) * 4);
    EXPECT_EQ(for_each_gradient(n, Algorithm::ring, DType::bfloat16), 2 + (n - 2) * 4 + (n - 1) * 2);
  }
  // Two groups of two: each ring sends gradients and finished sums once. In between, the groups exchange
  // partial sums in fp32 and finished sums.
  EXPECT_EQ(for_each_gradient(4, Algorithm::hierarchical, DType::float32, 2), 2 * 2 * 4 + 2 * 4);
  EXPECT_EQ(for_each_gradient(4, Algorithm::hierarchical, DType::bfloat16, 2), 2 * 2 * 2 + 4 + 2);
  // In groups of one the partial sums are the gradients.
  EXPECT_EQ(for_each_gradient(3, Algorithm::hierarchical, DType::float32, 1), 2 * 2 * 4);
  EXPECT_EQ(for_each_gradient(3, Algorithm::hierarchical, DType::bfloat16, 1), 2 * 2 * 2);
}

}  // namespace
}  // namespace rondo::nn
