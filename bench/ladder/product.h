// A product for the benchmarks: its shape, its matrices of N(0, 1) values, and a check of the result.
#pragma once

#include <rondo/bench/operators/product_sample.h>
#include <rondo/bench/operators/product_shape.h>
#include <rondo/bench/support/bench.h>
#include <rondo/bench/timing/inputs.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace rondo::bench {

// T: float, __nv_bfloat16 or __half, of all three matrices.
template <class T>
struct Product {
  ProductShape shape;
  Buffer<T> a, b, c;
  Buffer<float> scratch;
  mutable std::vector<T> host_a, host_b;  // a and b, downloaded by the first is_right()

  explicit Product(const ProductShape& in_shape)
      : shape(in_shape),
        a(normal_buffer<T>(size().m * size().k, 1)),
        b(normal_buffer<T>(size().k * size().n, 2)),
        c(size().m * size().n),
        scratch(workspace_bytes() / static_cast<int64_t>(sizeof(float))) {}

  const GemmShape& size() const { return shape.size; }

  // The most of any rung and any math.
  int64_t workspace_bytes() const {
    int64_t most = gemm_tc_09_workspace_bytes(size());
    for (const Math math : {Math::fp32, Math::tf32, Math::tf32x3})
      most = std::max(
          most,
          gemm_workspace_bytes(
              size(), {.transpose_a = shape.transpose_a, .transpose_b = shape.transpose_b, .math = math},
              dtype_of<T>));
    return most;
  }

  Status run(TensorRung::Run<T> gemm, Math math, cudaStream_t stream) { return run_by(gemm, math, stream); }
  // `gemm`: a function object with the parameters of gemm().
  template <class Gemm>
  Status run_by(const Gemm& gemm, Math math, cudaStream_t stream) {
    const auto view = [](Buffer<T>& data, int64_t rows, int64_t cols, bool transposed) {
      return transposed ? matrix(data.data(), cols, rows) : matrix(data.data(), rows, cols);
    };
    return gemm(matrix(c.data(), size().m, size().n), view(a, size().m, size().k, shape.transpose_a),
                view(b, size().k, size().n, shape.transpose_b),
                {.transpose_a = shape.transpose_a, .transpose_b = shape.transpose_b, .math = math},
                {scratch.data(), scratch.bytes()}, stream);
  }

  bool is_right(Math math) const {
    if (host_a.empty()) {  // downloads of the largest take longer than their product
      host_a = a.download();
      host_b = b.download();
    }
    const std::vector<T> host_c = c.download();
    const auto [m, n, k] = shape.size;
    return is_product<T>({1, m, n, k, shape.transpose_a, shape.transpose_b}, math, host_a.data(),
                         host_b.data(), host_c.data());
  }

  Work work() const {
    const double m = static_cast<double>(size().m), n = static_cast<double>(size().n),
                 k = static_cast<double>(size().k);
    return {.flops = 2 * m * n * k, .bytes = static_cast<double>(sizeof(T)) * (m * k + k * n + m * n)};
  }
};

// Whether the current device has such products: calls `gemm` for empty matrices.
template <class T>
bool is_on_device(TensorRung::Run<T> gemm, Math math) {
  const Status status = gemm({}, {}, {}, {.math = math}, {}, nullptr);
  if (status.code() == StatusCode::bad_argument) return false;
  throw_if_error(status);
  return true;
}

// Whether wgmma, where it multiplies, takes this layout: tf32 only along k.
template <class T>
bool wgmma_takes(const ProductShape& shape) {
  return sizeof(T) == 2 || (!shape.transpose_a && shape.transpose_b);
}

}  // namespace rondo::bench
