// All rungs of both GEMM ladders, and gemm() on the shapes of LeNet's linear layers.

#include <rondo/bench/support/bench.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/kernels/gemm/gemm_variants.h>
#include <rondo/kernels/gemm/tensor_rungs.h>

#include <cmath>
#include <string>
#include <type_traits>

namespace rondo::bench {
namespace {

// A rung and its arithmetic.
template <class T>
struct Variant {
  std::string id;
  Math math;
  TensorRung::Run<T> run;
};

// A product and its matrices.
template <class T>
struct Product {
  GemmShape shape;
  bool transpose_a, transpose_b;
  Buffer<T> a, b, c;
  Buffer<float> scratch;

  Product(const GemmShape& in_shape, bool in_transpose_a, bool in_transpose_b)
      : shape(in_shape),
        transpose_a(in_transpose_a),
        transpose_b(in_transpose_b),
        a(normal(shape.m * shape.k, 1)),
        b(normal(shape.k * shape.n, 2)),
        c(shape.m * shape.n),
        scratch(gemm_workspace_bytes(shape) / static_cast<int64_t>(sizeof(float))) {}

  static Buffer<T> normal(int64_t size, uint64_t seed) {
    if constexpr (std::is_same_v<T, float>) {
      return normal_buffer(size, seed);
    } else {
      const std::vector<float> floats = normal_buffer(size, seed).download();
      return Buffer<T>(std::vector<T>(floats.begin(), floats.end()));
    }
  }

  Status run(const Variant<T>& variant, cudaStream_t stream) {
    const auto view = [](Buffer<T>& data, int64_t rows, int64_t cols, bool transposed) {
      return transposed ? matrix(data.data(), cols, rows) : matrix(data.data(), rows, cols);
    };
    return variant.run(matrix(c.data(), shape.m, shape.n), view(a, shape.m, shape.k, transpose_a),
                       view(b, shape.k, shape.n, transpose_b),
                       {.transpose_a = transpose_a, .transpose_b = transpose_b, .math = variant.math},
                       {scratch.data(), scratch.bytes()}, stream);
  }

  // Compares some hundred results, spread over the matrix, with sums in double precision. The bound is that
  // of truncated fp32 sums, of tf32 factors, and of a result of 16 bits.
  bool is_right(Math math) const {
    const std::vector<T> ha = a.download(), hb = b.download(), hc = c.download();
    const double of_sums = static_cast<double>(shape.k) * (std::is_same_v<T, float> ? 0x1p-24 : 0x1p-23) +
                           (math == Math::tf32 ? 0x1p-10 : 0);
    const double of_result = sizeof(T) == 4 ? 0 : 0x1p-8;
    const int64_t count = shape.m * shape.n;
    for (int64_t e = 0; e < count; e += 1 + count / 251) {
      const int64_t i = e / shape.n, j = e % shape.n;
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < shape.k; ++l) {
        const auto left = static_cast<float>(
            ha[static_cast<size_t>(transpose_a ? l * shape.m + i : i * shape.k + l)]);
        const auto right = static_cast<float>(
            hb[static_cast<size_t>(transpose_b ? j * shape.k + l : l * shape.n + j)]);
        const double product = static_cast<double>(left) * static_cast<double>(right);
        sum += product;
        magnitude += std::abs(product);
      }
      const double error =
          std::abs(static_cast<double>(static_cast<float>(hc[static_cast<size_t>(e)])) - sum);
      if (!(error <= of_sums * magnitude + of_result * std::abs(sum))) return false;
    }
    return true;
  }

  Work work() const {
    const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
                 k = static_cast<double>(shape.k);
    return {.flops = 2 * m * n * k, .bytes = static_cast<double>(sizeof(T)) * (m * k + k * n + m * n)};
  }
};

template <class T>
void time_product(benchmark::State& state, const Variant<T>& variant, const GemmShape& shape,
                  bool transpose_a, bool transpose_b) {
  Product<T> product(shape, transpose_a, transpose_b);
  Stream stream;
  const Status first = product.run(variant, stream);
  if (first.code() == StatusCode::bad_argument) return state.SkipWithError(first.message().c_str());
  throw_if_error(first);
  stream.synchronize();
  if (!product.is_right(variant.math)) return state.SkipWithError("the product is wrong");
  time_device_work(state, Cache::hot, product.work(),
                   [&](cudaStream_t on) { return product.run(variant, on); });
}

struct Layer {
  const char* name;
  GemmShape shape;
  bool transpose_a, transpose_b;
};

// The products of LeNet's linear layers at batch 256. Weights are stored as [in, out].
constexpr Layer kLayers[] = {
    {"linear1_forward", {256, 128, 800}, false, false},
    {"linear1_weight_gradient", {800, 128, 256}, true, false},
    {"linear1_data_gradient", {256, 800, 128}, false, true},
    {"linear2_forward", {256, 10, 128}, false, false},
    {"linear2_weight_gradient", {128, 10, 256}, true, false},
    {"linear2_data_gradient", {256, 128, 10}, false, true},
};

// "gemm/03_shared_tiles/size:512/nt", and with tensor cores "gemm/tf32/tc_03_ldmatrix/size:512/nt".
template <class T>
void add(const std::string& name, const Variant<T>& variant, const GemmShape& shape, bool transpose_a,
         bool transpose_b) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    time_product<T>(state, variant, shape, transpose_a, transpose_b);
  })->UseManualTime()->Unit(benchmark::kMicrosecond);
}
template <class T>
void add_layouts(const std::string& prefix, const Variant<T>& variant, int64_t size) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      add(concat(prefix, variant.id, "/size:", size, "/", transpose_a ? "t" : "n", transpose_b ? "t" : "n"),
          variant, {size, size, size}, transpose_a, transpose_b);
}

const bool registered = [] {
  // On the CPU executor the first rungs would take minutes for the sizes that keep a GPU busy.
  for (const int64_t size : {192, 512, 1024, 4096}) {
    if (size > 1024 && std::string(platform()) == "cpu") continue;
    for (const GemmVariant& variant : gemm_variants())
      add_layouts<float>("gemm/", {variant.id, Math::fp32, variant.run}, size);
    for (const TensorRung& rung : tensor_rungs()) {
      const Variant<float> tf32 = {rung.id, Math::tf32, rung.tf32};
      if (rung.uses_wgmma)  // tf32 along k only
        add(concat("gemm/tf32/", rung.id, "/size:", size, "/nt"), tf32, {size, size, size}, false, true);
      else
        add_layouts<float>("gemm/tf32/", tf32, size);
      add_layouts<__nv_bfloat16>("gemm/bf16/", {rung.id, Math::fp32, rung.bf16}, size);
      add_layouts<__half>("gemm/fp16/", {rung.id, Math::fp32, rung.fp16}, size);
    }
    add_layouts<float>("gemm/tf32/", {"gemm", Math::tf32, gemm}, size);
    add_layouts<float>("gemm/tf32x3/", {"gemm", Math::tf32x3, gemm}, size);
    add_layouts<__nv_bfloat16>("gemm/bf16/", {"gemm", Math::fp32, gemm}, size);
    add_layouts<__half>("gemm/fp16/", {"gemm", Math::fp32, gemm}, size);
  }
  for (const Layer& layer : kLayers)
    add<float>(concat("gemm/lenet/", layer.name), {"gemm", Math::fp32, gemm}, layer.shape, layer.transpose_a,
               layer.transpose_b);
  return true;
}();

}  // namespace
}  // namespace rondo::bench
