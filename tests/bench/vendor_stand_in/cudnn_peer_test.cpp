// The peer cudnn of `rondo bench`, with the stand-in instead of the library.
#include <gtest/gtest.h>

#include <rondo/bench/operators/operators.h>
#include <rondo/bench/vendor/linked_cudnn.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/bench/cudnn_peer.h>

#include <string>
#include <vector>

namespace rondo::program {
namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

bench::OperatorRequest request_of(const std::string& operation, const std::string& kind,
                                  const std::string& pass, const Sizes& sizes, DType type) {
  const bench::OperatorKind& of = *bench::find_kind(*bench::find_operator(operation), kind);
  bench::OperatorRequest request = {
      .shape = bench::Shape(of.dimensions), .kind = of.name, .pass = pass, .type = type};
  for (const auto& [name, size] : sizes) EXPECT_TRUE(request.shape.set(name, size)) << name;
  return request;
}

// begin() checks the result of the library, so wrong arguments are errors.
void compute(BenchPeer& peer, const std::string& operation, const bench::OperatorRequest& request) {
  const bench::OperandSets sets = bench::make_operands(bench::make_call(operation, request), 3);
  peer.begin({operation, request, &sets});
  for (const bool cold : {false, true}) {
    std::vector<double> seconds;
    peer.sample(cold, 2, seconds);
    EXPECT_EQ(seconds.size(), 2u);
    EXPECT_GT(seconds[0], 0);
    EXPECT_GE(peer.calls_per_sample(cold), 1);
  }
}

std::string refusal(BenchPeer& peer, const std::string& operation, const bench::OperatorRequest& request) {
  const bench::OperandSets sets = bench::make_operands(bench::make_call(operation, request), 1);
  try {
    peer.begin({operation, request, &sets});
  } catch (const Error& error) {
    return error.status().message();
  }
  return "";
}

class CudnnPeer : public testing::Test {
 protected:
  // Every pass of a kind in every type.
  void compute_all(const std::string& operation, const std::string& kind, const Sizes& sizes) {
    for (const std::string& pass : bench::find_kind(*bench::find_operator(operation), kind)->passes)
      for (const DType type : {DType::float32, DType::bfloat16, DType::float16}) {
        SCOPED_TRACE(concat(operation, " ", kind, " ", pass, " ", name_of(type)));
        compute(*peer_, operation, request_of(operation, kind, pass, sizes, type));
      }
  }
  std::unique_ptr<BenchPeer> peer_ = make_cudnn_peer(bench::find_cudnn(bench::linked_cudnn));
};

TEST_F(CudnnPeer, ConvolvesInAllPassesWithStridesDilationAndGroups) {
  EXPECT_EQ(peer_->name(), "cuDNN 0");
  const Sizes small = {{"n", 2}, {"h", 9}, {"w", 7}, {"c", 6}, {"k", 12}};
  for (const Sizes& other : {Sizes{}, Sizes{{"stride", 2}, {"r", 2}, {"s", 3}}, Sizes{{"groups", 3}},
                             Sizes{{"dilation", 2}, {"pad", 2}, {"groups", 2}, {"stride", 2}}}) {
    Sizes sizes = small;
    sizes.insert(sizes.end(), other.begin(), other.end());
    compute_all("conv", "", sizes);
  }
}

TEST_F(CudnnPeer, ConvolvesInTf32) {
  bench::OperatorRequest request =
      request_of("conv", "", "forward", {{"n", 2}, {"h", 9}, {"w", 7}, {"c", 6}, {"k", 12}}, DType::float32);
  for (const Math math : {Math::tf32, Math::tf32x3}) {
    request.math = math;
    compute(*peer_, "conv", request);
  }
}

TEST_F(CudnnPeer, Pools) {
  for (const char* const kind : {"avg", "max"})
    for (const Sizes& sizes :
         {Sizes{{"n", 2}, {"h", 9}, {"w", 7}, {"c", 6}},
          Sizes{{"n", 2}, {"h", 9}, {"w", 7}, {"c", 6}, {"window", 3}, {"stride", 2}, {"pad", 1}}})
      compute_all("pool", kind, sizes);
}

// All values of x are equal, and the stand-in has the gradient at the last maximum.
TEST_F(CudnnPeer, MayChooseAnotherOfEqualMaxima) {
  const bench::OperatorRequest request =
      request_of("pool", "max", "backward", {{"n", 1}, {"h", 6}, {"w", 8}, {"c", 3}}, DType::float32);
  const bench::OperandSets sets = bench::make_operands(bench::make_call("pool", request), 1);
  for (const size_t operand : {1, 2})  // x and y
    RONDO_CUDA_THROW(cudaMemset(sets.set(0)[bench::OperandId<uint8_t>{operand}], 0,
                                static_cast<size_t>(sets.operands()[operand].byte_count())));
  EXPECT_NO_THROW(peer_->begin({"pool", request, &sets}));
}

TEST_F(CudnnPeer, HasSoftmaxAndBatchNormalisation) {
  for (const char* const kind : {"softmax", "log_softmax"})
    compute_all("softmax", kind, {{"rows", 33}, {"cols", 45}});
  compute_all("norm", "batch", {{"rows", 33}, {"channels", 10}});
}

TEST_F(CudnnPeer, RefusesWhatItDoesNotHave) {
  const auto refused = [&](const char* operation, const char* kind, const Sizes& sizes) {
    const bench::OperatorKind& of = *bench::find_kind(*bench::find_operator(operation), kind);
    return refusal(*peer_, operation,
                   request_of(operation, kind, of.passes.empty() ? "" : of.passes[0], sizes, DType::float32));
  };
  EXPECT_EQ(refused("gemm", "", {{"m", 4}, {"n", 4}, {"k", 4}}),
            "--peer is 'cudnn': cuDNN has no function for gemm");
  EXPECT_EQ(refused("pool", "max", {{"dilation", 2}, {"n", 1}}),
            "--peer is 'cudnn': cuDNN's pooling has no dilation, and dilation is 2");
  EXPECT_EQ(refused("pool", "max_indices", {{"n", 1}}),
            "--peer is 'cudnn': cuDNN has pooling of the kinds avg and max, not max_indices");
  EXPECT_EQ(refused("norm", "layer", {{"rows", 4}, {"cols", 4}}),
            "--peer is 'cudnn': cuDNN has a function for the kind batch of norm, not for layer");
}

TEST_F(CudnnPeer, WrongResultsAreErrors) {
  bench::CudnnFunctions functions = bench::find_cudnn(bench::linked_cudnn);
  functions.pool = [](void*, void*, const void*, void*, const void*, const void*, void*, void*) { return 0; };
  const std::unique_ptr<BenchPeer> wrong = make_cudnn_peer(functions);
  EXPECT_EQ(
      refusal(*wrong, "pool",
              request_of("pool", "avg", "forward", {{"n", 1}, {"h", 4}, {"w", 4}, {"c", 2}}, DType::float32)),
      "cuDNN, average pooling of 1 image of 4 x 4 x 2, windows of 2 x 2: the result is wrong");
}

TEST_F(CudnnPeer, ErrorsHaveTheNameOfTheFunction) {
  bench::CudnnFunctions functions = bench::find_cudnn(bench::linked_cudnn);
  functions.softmax = [](void*, int, int, const void*, void*, const void*, const void*, void*, void*) {
    return 5000;
  };
  const std::unique_ptr<BenchPeer> failing = make_cudnn_peer(functions);
  EXPECT_EQ(refusal(*failing, "softmax",
                    request_of("softmax", "softmax", "forward", {{"rows", 3}, {"cols", 4}}, DType::float32)),
            "cudnnSoftmaxForward: CUDNN_STATUS_EXECUTION_FAILED");
  functions.softmax = [](void*, int, int, const void*, void*, const void*, const void*, void*, void*) {
    return 3000;
  };
  const std::unique_ptr<BenchPeer> refusing = make_cudnn_peer(functions);
  EXPECT_EQ(refusal(*refusing, "softmax",
                    request_of("softmax", "softmax", "forward", {{"rows", 3}, {"cols", 4}}, DType::float32)),
            "--peer is 'cudnn': cudnnSoftmaxForward: CUDNN_STATUS_NOT_SUPPORTED");
}

TEST_F(CudnnPeer, NamesWhatIsMissing) {
  try {
    bench::find_cudnn([](const std::string& name) {
      return name == "cudnnPoolingForward" ? nullptr : bench::linked_cudnn(name);
    });
    FAIL() << "a library without cudnnPoolingForward";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().message(), "this cuDNN has no function cudnnPoolingForward");
  }
  try {
    load_cudnn();
    FAIL() << "cuDNN on the CPU executor";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().message(),
              "--peer is 'cudnn', which needs a GPU: this rondo runs on the CPU executor");
  }
}

}  // namespace
}  // namespace rondo::program
