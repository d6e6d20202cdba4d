// The peer cublas of `rondo bench gemm`, with the stand-in instead of the library.
#include <gtest/gtest.h>

#include <cublas_v2.h>
#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/bench/cublas_peer.h>

#include <map>
#include <string>

namespace rondo::program {
namespace {

void* stand_in(const std::string& name) {
  static const std::map<std::string, void*> functions = {
      {"cublasCreate_v2", reinterpret_cast<void*>(cublasCreate)},
      {"cublasDestroy_v2", reinterpret_cast<void*>(cublasDestroy)},
      {"cublasGetVersion_v2", reinterpret_cast<void*>(cublasGetVersion)},
      {"cublasSetStream_v2", reinterpret_cast<void*>(cublasSetStream)},
      {"cublasSetWorkspace_v2", reinterpret_cast<void*>(cublasSetWorkspace)},
      {"cublasGetStatusString", reinterpret_cast<void*>(cublasGetStatusString)},
      {"cublasGemmEx", reinterpret_cast<void*>(cublasGemmEx)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

bench::OperatorRequest product(DType type, Math math, bool transpose_a, bool transpose_b, int64_t batch = 1) {
  return {.shape = {{"m", 40}, {"n", 24}, {"k", 56}, {"batch", batch}},
          .type = type,
          .math = math,
          .transpose_a = transpose_a,
          .transpose_b = transpose_b};
}

// begin() checks the result of the library, so wrong arguments are errors.
TEST(CublasPeer, ComputesTheSameProducts) {
  const std::unique_ptr<BenchPeer> peer = make_cublas_peer(find_cublas(stand_in));
  EXPECT_EQ(peer->name(), "cuBLAS 0");
  for (const auto& [type, math] : {std::pair{DType::float32, Math::fp32},
                                   {DType::float32, Math::tf32},
                                   {DType::bfloat16, Math::fp32},
                                   {DType::float16, Math::fp32}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        const bench::OperatorRequest request = product(type, math, transpose_a, transpose_b);
        const bench::OperandSets sets = bench::make_operands(bench::make_call("gemm", request), 3);
        peer->begin({"gemm", request, &sets});
        for (const bool cold : {false, true}) {
          std::vector<double> seconds;
          peer->sample(cold, 2, seconds);
          EXPECT_EQ(seconds.size(), 2u);
          EXPECT_GT(seconds[0], 0);
          EXPECT_GE(peer->calls_per_sample(cold), 1);
        }
      }
}

TEST(CublasPeer, RefusesBatches) {
  const std::unique_ptr<BenchPeer> peer = make_cublas_peer(find_cublas(stand_in));
  const bench::OperatorRequest request = product(DType::float32, Math::fp32, false, false, 2);
  const bench::OperandSets sets = bench::make_operands(bench::make_call("gemm", request), 1);
  EXPECT_THROW(peer->begin({"gemm", request, &sets}), Error);
}

TEST(CublasPeer, NamesWhatIsMissing) {
  try {
    find_cublas([](const std::string& name) { return name == "cublasGemmEx" ? nullptr : stand_in(name); });
    FAIL() << "a library without cublasGemmEx";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().message(), "--peer cublas: the library has no function cublasGemmEx");
  }
  try {
    load_cublas();
    FAIL() << "cuBLAS on the CPU executor";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().message(),
              "--peer is 'cublas', which needs a GPU: this rondo runs on the CPU executor");
  }
}

}  // namespace
}  // namespace rondo::program
