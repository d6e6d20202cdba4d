// The GEMM ladder compared with cuBLAS: the same shapes, the same N(0, 1) data, in the same process. The
// share of a rung is relative to strict fp32 in cuBLAS, timed immediately before it.

#include <cublas_v2.h>

#include <rondo/bench/support/bench.h>
#include <rondo/kernels/gemm/gemm_variants.h>
#include <rondo/bench/support/inputs.h>

#include <cuda_bf16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace rondo::bench {
namespace {

// The last two are a layer of a multilayer perceptron of width 2056 with a batch of 6912: forward, and the
// weight gradient (A transposed). 2056 is not a multiple of a tile.
struct Problem {
  int64_t m, n, k;
  bool transpose_a = false;
};
constexpr Problem kProblems[] = {
    {1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}, {6912, 2056, 2056}, {2056, 2056, 6912, true}};

enum class Math { fp32, tf32, bf16 };

Status from_cublas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Status(StatusCode::device_failed, concat("cuBLAS: ", cublasGetStatusString(status)));
}

// The matrices of a problem; `a` is k x m if it is transposed.
struct Matrices {
  explicit Matrices(const Problem& p)
      : problem(p), a(normal_buffer(p.m * p.k, 1)), b(normal_buffer(p.k * p.n, 2)), c(p.m * p.n) {}

  MatrixView<const float> a_view() const {
    return problem.transpose_a ? matrix<const float>(a.data(), problem.k, problem.m)
                               : matrix<const float>(a.data(), problem.m, problem.k);
  }
  MatrixView<const float> b_view() const { return matrix<const float>(b.data(), problem.k, problem.n); }
  MatrixView<float> c_view() { return matrix(c.data(), problem.m, problem.n); }

  double flops() const { return 2.0 * static_cast<double>(problem.m * problem.n * problem.k); }

  Problem problem;
  Buffer<float> a, b, c;
};

// Returns whether c is the product. Compares some values with sums in double. `rounding` is the unit roundoff
// of the operands; the error of a product is twice that.
bool is_product(const Matrices& matrices, double rounding) {
  const auto [m, n, k, transposed] = matrices.problem;
  const std::vector<float> a = matrices.a.download(), b = matrices.b.download(), c = matrices.c.download();
  bench::Random random(3);
  for (int sample = 0; sample < 200; ++sample) {
    const int64_t i = random.below(m), j = random.below(n);
    double sum = 0, magnitude = 0;
    for (int64_t l = 0; l < k; ++l) {
      const double product = static_cast<double>(a[static_cast<size_t>(transposed ? l * m + i : i * k + l)]) *
                             b[static_cast<size_t>(l * n + j)];
      sum += product;
      magnitude += std::abs(product);
    }
    if (!(std::abs(c[static_cast<size_t>(i * n + j)] - sum) <= (3 * rounding + 1e-6) * magnitude))
      return false;
  }
  return true;
}

// cuBLAS is column-major: the row-major C = A B is C^T = B^T A^T for cuBLAS.
class Cublas {
 public:
  Cublas() : workspace_(32 << 20) {
    throw_if_error(from_cublas(cublasCreate(&handle_)));
    throw_if_error(
        from_cublas(cublasSetWorkspace(handle_, workspace_.data(), static_cast<size_t>(workspace_.bytes()))));
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  Status run(const Problem& p, const void* a, const void* b, void* c, Math math, cudaStream_t stream) {
    const cudaDataType_t type = math == Math::bf16 ? CUDA_R_16BF : CUDA_R_32F;
    const cublasComputeType_t compute = math == Math::tf32   ? CUBLAS_COMPUTE_32F_FAST_TF32
                                        : math == Math::fp32 ? CUBLAS_COMPUTE_32F_PEDANTIC
                                                             : CUBLAS_COMPUTE_32F;
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    const float one = 1, zero = 0;
    RONDO_RETURN_IF_ERROR(from_cublas(cublasSetStream(handle_, stream)));
    RONDO_RETURN_IF_ERROR(
        from_cublas(cublasSetWorkspace(handle_, workspace_.data(), static_cast<size_t>(workspace_.bytes()))));
    return from_cublas(cublasGemmEx(handle_, CUBLAS_OP_N, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k,
                                    &one, b, type, n, a, type, p.transpose_a ? m : k, &zero, c, type, n,
                                    compute, CUBLAS_GEMM_DEFAULT));
  }

 private:
  cublasHandle_t handle_ = nullptr;
  Buffer<unsigned char> workspace_;
};

Cublas& cublas() {
  static Cublas library;
  return library;
}

// Rounds the buffer's values to bf16, and writes the rounded values back to the buffer, so that a check uses
// the same numbers.
Buffer<__nv_bfloat16> to_bf16(Buffer<float>& buffer) {
  std::vector<float> values = buffer.download();
  std::vector<__nv_bfloat16> rounded(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    rounded[i] = __float2bfloat16(values[i]);
    values[i] = __bfloat162float(rounded[i]);
  }
  buffer.upload(values);
  return Buffer<__nv_bfloat16>(rounded);
}

void by_cublas_bf16(benchmark::State& state, Matrices& matrices) {
  const Buffer<__nv_bfloat16> a = to_bf16(matrices.a), b = to_bf16(matrices.b);
  Buffer<__nv_bfloat16> c(matrices.c.size());
  const auto work = [&](cudaStream_t stream) {
    return cublas().run(matrices.problem, a.data(), b.data(), c.data(), Math::bf16, stream);
  };
  Stream stream;
  throw_if_error(work(stream));
  stream.synchronize();
  const std::vector<__nv_bfloat16> rounded = c.download();
  std::vector<float> values(rounded.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = __bfloat162float(rounded[i]);
  matrices.c.upload(values);
  if (!is_product(matrices, 0x1p-9)) return state.SkipWithError("the product is wrong");
  time_device_work(state, Cache::hot, {.flops = matrices.flops()}, Bound{}, work);
}

void by_cublas(benchmark::State& state, const Problem& problem, Math math) {
  Matrices matrices(problem);
  if (math == Math::bf16) return by_cublas_bf16(state, matrices);
  const auto work = [&](cudaStream_t stream) {
    return cublas().run(problem, matrices.a.data(), matrices.b.data(), matrices.c.data(), math, stream);
  };
  Stream stream;
  throw_if_error(work(stream));
  stream.synchronize();
  if (!is_product(matrices, math == Math::tf32 ? 0x1p-11 : 0x1p-24))
    return state.SkipWithError("the product is wrong");
  const Work done = {.flops = matrices.flops()};
  time_device_work(state, Cache::hot, done, math == Math::fp32 ? bound_of(done) : Bound{}, work);
}

// The median of several calls, as the reference for the ladder.
double cublas_seconds(Matrices& matrices, cudaStream_t stream) {
  std::array<double, 7> seconds;
  for (double& sample : seconds)
    sample = seconds_of(stream, [&](cudaStream_t s) {
      throw_if_error(cublas().run(matrices.problem, matrices.a.data(), matrices.b.data(), matrices.c.data(),
                                  Math::fp32, s));
    });
  std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
  return seconds[3];
}

void by_rung(benchmark::State& state, const Problem& problem, const GemmVariant& rung) {
  Matrices matrices(problem);
  Stream stream;
  const Bound peer = {cublas_seconds(matrices, stream), "cuBLAS fp32"};
  matrices.c.fill_bytes(0xff);  // NaN

  Buffer<unsigned char> memory(gemm_workspace_bytes({problem.m, problem.n, problem.k}));
  const auto work = [&](cudaStream_t s) {
    return rung.run(matrices.c_view(), matrices.a_view(), matrices.b_view(),
                    {.transpose_a = problem.transpose_a}, {memory.data(), memory.bytes()}, s);
  };
  throw_if_error(work(stream));
  stream.synchronize();
  if (!is_product(matrices, 0x1p-24)) return state.SkipWithError("the product is wrong");
  time_device_work(state, Cache::hot, {.flops = matrices.flops()}, peer, work);
}

// For the largest problem the first rungs take seconds and give no new information.
bool is_worth_it(const Problem& problem, const GemmVariant& rung) {
  const bool is_slow = std::strncmp(rung.id, "01", 2) == 0 || std::strncmp(rung.id, "02", 2) == 0;
  return !is_slow || problem.m * problem.n * problem.k <= int64_t{1} << 36;
}

template <class F>
void add(const std::string& name, F&& body) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [body](benchmark::State& state) {
                                 try {
                                   body(state);
                                 } catch (const Error& error) {
                                   state.SkipWithError(error.what());
                                 }
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

const bool kRegistered = [] {
  for (const Problem& p : kProblems) {
    const std::string shape = concat("/", p.m, "x", p.n, "x", p.k, p.transpose_a ? "/transpose_a" : "");
    for (const auto& [math, name] :
         {std::pair{Math::fp32, "fp32"}, {Math::tf32, "tf32"}, {Math::bf16, "bf16"}})
      add(concat("cublas_", name, shape), [=](benchmark::State& state) { by_cublas(state, p, math); });
    for (const GemmVariant& rung : gemm_variants())
      if (is_worth_it(p, rung))
        add(concat("rondo_", rung.id, shape), [=](benchmark::State& state) { by_rung(state, p, rung); });
  }
  return true;
}();

}  // namespace
}  // namespace rondo::bench
