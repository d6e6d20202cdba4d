// gemm_strided_batched(), and gemm_batched() of the same matrices by pointers, on the two products of the
// attention of a vision transformer, ViT-Base: for each of 12 heads of an image the scores, 197 queries x 197
// keys of 64 values, and the weighted sums of the values.
#include <rondo/bench/operators/product_sample.h>
#include <rondo/bench/support/bench.h>
#include <rondo/kernels/core/arithmetic.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/gemm/gemm.h>

#include <algorithm>
#include <string>
#include <type_traits>

namespace rondo::bench {
namespace {

constexpr int64_t kTokens = 197, kWidth = 64;

// Packed matrices: c = a b^T of each head (scores), or c = a b (sums).
struct BatchedShape {
  const char* name;
  int64_t batches, m, n, k;
  bool transpose_b;
};

template <class T>
class BatchedProduct {
 public:
  explicit BatchedProduct(const BatchedShape& shape)
      : s_(shape),
        a_(normal_buffer<T>(s_.batches * s_.m * s_.k, 1)),
        b_(normal_buffer<T>(s_.batches * s_.k * s_.n, 2)),
        c_(s_.batches * s_.m * s_.n),
        a_at_(addresses(a_, s_.m * s_.k)),
        b_at_(addresses(b_, s_.k * s_.n)),
        c_at_(addresses(c_, s_.m * s_.n)) {}

  Status run(bool by_pointers, Math math, cudaStream_t stream) {
    const int64_t b_rows = s_.transpose_b ? s_.n : s_.k, b_cols = s_.transpose_b ? s_.k : s_.n;
    const GemmOptions options = {.transpose_b = s_.transpose_b, .math = math};
    if (by_pointers)
      return gemm_batched(MatrixPointersView<T>{c_at_.data(), s_.batches, s_.m, s_.n},
                          MatrixPointersView<T>{a_at_.data(), s_.batches, s_.m, s_.k},
                          MatrixPointersView<T>{b_at_.data(), s_.batches, b_rows, b_cols}, options, stream);
    return gemm_strided_batched(MatrixBatchView<T>{c_.data(), s_.batches, s_.m, s_.n},
                                MatrixBatchView<T>{a_.data(), s_.batches, s_.m, s_.k},
                                MatrixBatchView<T>{b_.data(), s_.batches, b_rows, b_cols}, options, stream);
  }

  bool is_right(Math math) const {
    const std::vector<T> a = a_.download(), b = b_.download(), c = c_.download();
    return is_product<T>({s_.batches, s_.m, s_.n, s_.k, false, s_.transpose_b}, math, a.data(), b.data(),
                         c.data());
  }

  Work work() const {
    const double batches = static_cast<double>(s_.batches), m = static_cast<double>(s_.m),
                 n = static_cast<double>(s_.n), k = static_cast<double>(s_.k);
    return {.flops = 2 * batches * m * n * k,
            .bytes = static_cast<double>(sizeof(T)) * batches * (m * k + k * n + m * n)};
  }

 private:
  // Of the packed matrices of `size` elements.
  static std::vector<T*> addresses(Buffer<T>& matrices, int64_t size) {
    std::vector<T*> all;
    for (T* at = matrices.data(); at < matrices.data() + matrices.size(); at += size) all.push_back(at);
    return all;
  }

  BatchedShape s_;
  Buffer<T> a_, b_, c_;
  Buffer<T*> a_at_, b_at_, c_at_;
};

template <class T>
void add(const BatchedShape& shape, bool by_pointers, int64_t images, Math math) {
  if (!check_math("", math).ok() || !check_factor_type("", dtype_of<T>).ok()) return;
  const char* const arithmetic = name_of(arithmetic_of(dtype_of<T>, math));
  const char* const function = by_pointers ? "gemm_batched/" : "gemm_strided_batched/";
  const std::string name = concat(function, arithmetic, "/", shape.name, "/images:", images);
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) {
        BatchedProduct<T> product(shape);
        const auto run = [&](cudaStream_t stream) { return product.run(by_pointers, math, stream); };
        run_once(run);
        if (!product.is_right(math)) return state.SkipWithError("the product is wrong");
        const Work work = product.work();
        time_device_work(state, Cache::hot, work, bound_of(work, arithmetic_of(dtype_of<T>, math)), run);
      })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

const bool registered = register_on_device([] {
  for (const int64_t images : {1, 32})
    for (const BatchedShape& shape :
         {BatchedShape{"scores", 12 * images, kTokens, kTokens, kWidth, true},
          BatchedShape{"weighted_sums", 12 * images, kTokens, kWidth, kTokens, false}}) {
      for (const bool by_pointers : {false, true}) {
        for (const Math math : {Math::fp32, Math::tf32, Math::tf32x3})
          add<float>(shape, by_pointers, images, math);
        add<__nv_bfloat16>(shape, by_pointers, images, Math::fp32);
        add<__half>(shape, by_pointers, images, Math::fp32);
      }
    }
});

}  // namespace
}  // namespace rondo::bench
