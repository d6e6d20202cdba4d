// All rungs of the GEMM ladder, and gemm() on the shapes of LeNet's linear layers.

#include <rondo/bench/support/bench.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/kernels/gemm/gemm_variants.h>

#include <cmath>
#include <string>

namespace rondo::bench {
namespace {

// A product and its matrices.
struct Product {
  GemmShape shape;
  bool transpose_a, transpose_b;
  Buffer<float> a, b, c;
  Buffer<float> scratch;

  Product(const GemmShape& in_shape, bool in_transpose_a, bool in_transpose_b)
      : shape(in_shape),
        transpose_a(in_transpose_a),
        transpose_b(in_transpose_b),
        a(normal_buffer(shape.m * shape.k, 1)),
        b(normal_buffer(shape.k * shape.n, 2)),
        c(shape.m * shape.n),
        scratch(gemm_workspace_bytes(shape) / static_cast<int64_t>(sizeof(float))) {}

  Status run(const GemmVariant& variant, cudaStream_t stream) {
    const auto view = [](Buffer<float>& data, int64_t rows, int64_t cols, bool transposed) {
      return transposed ? matrix(data.data(), cols, rows) : matrix(data.data(), rows, cols);
    };
    return variant.run(matrix(c.data(), shape.m, shape.n), view(a, shape.m, shape.k, transpose_a),
                       view(b, shape.k, shape.n, transpose_b),
                       {.transpose_a = transpose_a, .transpose_b = transpose_b},
                       {scratch.data(), scratch.bytes()}, stream);
  }

  // Compares some hundred results, spread over the matrix, with sums in double precision.
  bool is_right() const {
    const std::vector<float> ha = a.download(), hb = b.download(), hc = c.download();
    const int64_t count = shape.m * shape.n;
    for (int64_t e = 0; e < count; e += 1 + count / 251) {
      const int64_t i = e / shape.n, j = e % shape.n;
      double sum = 0, magnitude = 0;
      for (int64_t l = 0; l < shape.k; ++l) {
        const double product =
            static_cast<double>(ha[static_cast<size_t>(transpose_a ? l * shape.m + i : i * shape.k + l)]) *
            static_cast<double>(hb[static_cast<size_t>(transpose_b ? j * shape.k + l : l * shape.n + j)]);
        sum += product;
        magnitude += std::abs(product);
      }
      const double error = std::abs(static_cast<double>(hc[static_cast<size_t>(e)]) - sum);
      if (!(error <= static_cast<double>(shape.k) * 0x1p-24 * magnitude)) return false;
    }
    return true;
  }

  Work work() const {
    const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
                 k = static_cast<double>(shape.k);
    return {.flops = 2 * m * n * k, .bytes = 4 * (m * k + k * n + m * n)};
  }
};

void time_product(benchmark::State& state, const GemmVariant& variant, const GemmShape& shape,
                  bool transpose_a, bool transpose_b) {
  Product product(shape, transpose_a, transpose_b);
  Stream stream;
  throw_if_error(product.run(variant, stream));
  stream.synchronize();
  if (!product.is_right()) return state.SkipWithError("the product is wrong");
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

const bool registered = [] {
  const auto add = [](const std::string& name, auto function) {
    benchmark::RegisterBenchmark(name.c_str(), function)->UseManualTime()->Unit(benchmark::kMicrosecond);
  };
  // On the CPU executor the first rungs would take minutes for the sizes that keep a GPU busy.
  for (const int64_t size : {192, 512, 1024, 4096}) {
    if (size > 1024 && std::string(platform()) == "cpu") continue;
    for (const GemmVariant& variant : gemm_variants()) {
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true})
          add(concat("gemm/", variant.id, "/size:", size, "/", transpose_a ? "t" : "n",
                     transpose_b ? "t" : "n"),
              [&variant, size, transpose_a, transpose_b](benchmark::State& state) {
                time_product(state, variant, {size, size, size}, transpose_a, transpose_b);
              });
    }
  }
  for (const Layer& layer : kLayers)
    add(concat("gemm/lenet/", layer.name), [&layer](benchmark::State& state) {
      time_product(state, gemm_variants().back(), layer.shape, layer.transpose_a, layer.transpose_b);
    });
  return true;
}();

}  // namespace
}  // namespace rondo::bench
