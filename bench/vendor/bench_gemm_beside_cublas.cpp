// The rungs of both GEMM ladders compared with cuBLAS in the same type and arithmetic: the same shapes, the
// same N(0, 1) data, in the same process. The share of a rung is relative to cuBLAS, timed in turns with it.
// Math::tf32x3 has the accuracy of fp32, and is compared with cuBLAS in fp32.

#include <cublas_v2.h>

#include <rondo/bench/ladder/product.h>
#include <rondo/bench/operators/column_major_gemm.h>
#include <rondo/bench/support/bench.h>
#include <rondo/bench/vendor/loaded_library.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/runtime/platform.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace rondo::bench {
namespace {

// The last three are a layer of a multilayer perceptron of width 2056 with a batch of 6912: forward with the
// weights as [in, out] and as [out, in], and the weight gradient. 2056 is not a multiple of a tile. wgmma
// multiplies tf32 factors only along k, in the layout nt.
constexpr ProductShape kShapes[] = {{{1024, 1024, 1024}},
                                    {{1024, 1024, 1024}, false, true},
                                    {{4096, 4096, 4096}},
                                    {{4096, 4096, 4096}, false, true},
                                    {{8192, 8192, 8192}},
                                    {{8192, 8192, 8192}, false, true},
                                    {{6912, 2056, 2056}},
                                    {{6912, 2056, 2056}, false, true},
                                    {{2056, 2056, 6912}, true, false}};

// The CPU executor has these too, which it computes in milliseconds. The three sizes differ, so that no two
// arguments can be exchanged without an effect.
constexpr ProductShape kSmallShapes[] = {
    {{200, 136, 72}}, {{200, 136, 72}, false, true}, {{200, 136, 72}, true, false}};

std::vector<ProductShape> shapes() {
  std::vector<ProductShape> all;
  if (std::string(platform()) == "cpu") all.assign(std::begin(kSmallShapes), std::end(kSmallShapes));
  all.insert(all.end(), std::begin(kShapes), std::end(kShapes));
  return all;
}

std::string tail_of(const ProductShape& shape) {
  const auto [m, n, k] = shape.size;
  return concat("/", m, "x", n, "x", k, "/", shape.layout());
}

Status from_cublas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return Status(StatusCode::device_failed, concat("cuBLAS: ", cublasGetStatusString(status)));
}

template <class T>
constexpr cudaDataType_t kCublasType = CUDA_R_32F;
template <>
constexpr cudaDataType_t kCublasType<__nv_bfloat16> = CUDA_R_16BF;
template <>
constexpr cudaDataType_t kCublasType<__half> = CUDA_R_16F;

template <class T>
cublasComputeType_t compute_type(Math math) {
  return sizeof(T) == 4 && math == Math::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

// "fp32", "tf32", "bf16", "fp16"; what cuBLAS computes for `math`.
template <class T>
std::string name_of_peer(Math math) {
  if (std::is_same_v<T, __nv_bfloat16>) return "bf16";
  if (std::is_same_v<T, __half>) return "fp16";
  return math == Math::tf32 ? "tf32" : "fp32";
}

class Cublas {
 public:
  Cublas() : workspace_(32 << 20) {
    unsetenv("NVIDIA_TF32_OVERRIDE");  // it replaces the arithmetic that a row names
    throw_if_error(from_cublas(cublasCreate(&handle_)));
    throw_if_error(set_workspace());
  }
  ~Cublas() { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  int version() const {
    int version = 0;
    throw_if_error(from_cublas(cublasGetVersion(handle_, &version)));
    return version;
  }

  template <class T>
  Status run(Product<T>& product, Math math, cudaStream_t stream) {
    const ColumnMajorGemm<T> gemm = column_major_gemm<T>(product.shape, product.a.data(), product.b.data());
    const auto size = [](int64_t value) { return static_cast<int>(value); };
    const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const float one = 1, zero = 0;
    constexpr cudaDataType_t kType = kCublasType<T>;
    RONDO_RETURN_IF_ERROR(from_cublas(cublasSetStream(handle_, stream)));
    RONDO_RETURN_IF_ERROR(set_workspace());  // setting the stream resets it
    return from_cublas(cublasGemmEx(handle_, operation(gemm.transpose_first),
                                    operation(gemm.transpose_second), size(gemm.m), size(gemm.n),
                                    size(gemm.k), &one, gemm.first, kType, size(gemm.first_ld), gemm.second,
                                    kType, size(gemm.second_ld), &zero, product.c.data(), kType,
                                    size(gemm.result_ld), compute_type<T>(math), CUBLAS_GEMM_DEFAULT));
  }

 private:
  Status set_workspace() {
    return from_cublas(
        cublasSetWorkspace(handle_, workspace_.data(), static_cast<size_t>(workspace_.bytes())));
  }

  cublasHandle_t handle_ = nullptr;
  Buffer<unsigned char> workspace_;
};

Cublas& cublas() {
  // Never destroyed: CUDA must not be called after main().
  static Cublas& library = *new Cublas;
  return library;
}

// The matrices of the last shape in this type: making the largest takes seconds, and all rows of a shape
// follow each other. The three types keep their matrices, 1.5 GB for 8192 x 8192.
template <class T>
Product<T>& product_of(const ProductShape& shape) {
  // Never destroyed, as above.
  static std::unique_ptr<Product<T>>& last = *new std::unique_ptr<Product<T>>;
  if (!last || tail_of(last->shape) != tail_of(shape)) {
    last.reset();  // before the next one is allocated
    last = std::make_unique<Product<T>>(shape);
  }
  return *last;
}

template <class T>
void by_cublas(benchmark::State& state, const ProductShape& shape, Math math) {
  Product<T>& product = product_of<T>(shape);
  product.c.fill_bytes(0xff);  // NaN
  const auto work = [&](cudaStream_t stream) { return cublas().run(product, math, stream); };
  run_once(work);
  if (!product.is_right(math)) return state.SkipWithError("the product is wrong");
  const Work done = {.flops = product.work().flops};
  const bool is_fp32 = std::is_same_v<T, float> && math == Math::fp32;
  time_device_work(state, Cache::hot, done, is_fp32 ? bound_of(done) : Bound{}, work);
}

template <class T>
void by_rung(benchmark::State& state, const ProductShape& shape, Math math, TensorRung::Run<T> rung) {
  Product<T>& product = product_of<T>(shape);
  product.c.fill_bytes(0xff);  // NaN
  const auto work = [&](cudaStream_t s) { return product.run(rung, math, s); };
  run_once(work);
  if (!product.is_right(math)) return state.SkipWithError("the product is wrong");
  const Peer peer = {concat("cuBLAS ", name_of_peer<T>(math)),
                     [&](cudaStream_t s) { return cublas().run(product, math, s); }};
  time_beside(state, {.flops = product.work().flops}, peer, work);
}

// For the largest shapes the first rungs take seconds and give no new information.
bool is_worth_it(const ProductShape& shape, const char* rung) {
  const bool is_slow = std::strncmp(rung, "01", 2) == 0 || std::strncmp(rung, "02", 2) == 0;
  return !is_slow || shape.size.m * shape.size.n * shape.size.k <= int64_t{1} << 36;
}

// "cublas_bf16/4096x4096x4096/nn" and "rondo_bf16/tc_07_persistent/4096x4096x4096/nn". What the device does
// not have is left out.
template <class T>
void add_peer(const ProductShape& shape, const std::string& tail, Math math) {
  if (!is_on_device<T>(gemm, math)) return;
  add_benchmark(concat("cublas_", name_of_peer<T>(math), tail),
                [=](benchmark::State& state) { by_cublas<T>(state, shape, math); });
}
template <class T>
void add_rung(const ProductShape& shape, const std::string& tail, const char* type, const char* id, Math math,
              TensorRung::Run<T> run, bool uses_wgmma = false) {
  if (!is_on_device<T>(run, math) || (uses_wgmma && !wgmma_takes<T>(shape))) return;
  add_benchmark(concat("rondo_", type, "/", id, tail),
                [=](benchmark::State& state) { by_rung<T>(state, shape, math, run); });
}

void add_products(const ProductShape& shape) {
  const std::string tail = tail_of(shape);
  add_peer<float>(shape, tail, Math::fp32);
  add_rung<float>(shape, tail, "fp32", "gemm", Math::fp32, gemm);
  add_rung<float>(shape, tail, "tf32x3", "gemm", Math::tf32x3, gemm);
  add_peer<float>(shape, tail, Math::tf32);
  add_rung<float>(shape, tail, "tf32", "gemm", Math::tf32, gemm);
  add_peer<__nv_bfloat16>(shape, tail, Math::fp32);
  add_rung<__nv_bfloat16>(shape, tail, "bf16", "gemm", Math::fp32, gemm);
  add_peer<__half>(shape, tail, Math::fp32);
  add_rung<__half>(shape, tail, "fp16", "gemm", Math::fp32, gemm);
}

void add_rungs(const ProductShape& shape) {
  const std::string tail = tail_of(shape);
  for (const GemmVariant& rung : gemm_variants())
    if (std::strcmp(rung.id, "gemm") != 0 && is_worth_it(shape, rung.id))
      add_rung<float>(shape, tail, "fp32", rung.id, Math::fp32, rung.run);
  for (const TensorRung& rung : tensor_rungs()) {
    add_rung<float>(shape, tail, "tf32", rung.id, Math::tf32, rung.tf32, rung.uses_wgmma);
    add_rung<float>(shape, tail, "tf32x3", rung.id, Math::tf32x3, rung.tf32, rung.uses_wgmma);
    add_rung<__nv_bfloat16>(shape, tail, "bf16", rung.id, Math::fp32, rung.bf16, rung.uses_wgmma);
    add_rung<__half>(shape, tail, "fp16", rung.id, Math::fp32, rung.fp16, rung.uses_wgmma);
  }
}

// gemm() comes first, in case there is no time for all: the rungs of the ladders take most of it.
const bool kRegistered = register_on_device([] {
  benchmark::AddCustomContext("cublas_version", concat(cublas().version()));
  benchmark::AddCustomContext("cublas_library", loaded_library("cublasGemmEx"));
  for (const ProductShape& shape : shapes()) add_products(shape);
  for (const ProductShape& shape : shapes()) add_rungs(shape);
});

}  // namespace
}  // namespace rondo::bench
