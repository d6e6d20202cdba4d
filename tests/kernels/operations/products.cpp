#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/tests/kernels/declared_operations.h>
#include <rondo/tests/kernels/operations/operations.h>

#include <string>

namespace rondo::test {
namespace {

void add_gemms(std::vector<Operation>& all) {
  constexpr int64_t kM = 36, kN = 40, kK = 64;
  for (const GemmVariant& variant : gemm_variants())
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        all.push_back(
            {concat(function_of(variant), transpose_a ? "_at" : "", transpose_b ? "_bt" : ""),
             [=, run = variant.run](Operands& o) {
               float *c = o.in_out(kM * kN), *a = o.in(kM * kK), *b = o.in(kK * kN), *bias = o.in(kN);
               return run(
                   matrix(c, kM, kN),
                   transpose_a ? matrix<const float>(a, kK, kM) : matrix<const float>(a, kM, kK),
                   transpose_b ? matrix<const float>(b, kN, kK) : matrix<const float>(b, kK, kN),
                   {.transpose_a = transpose_a, .transpose_b = transpose_b, .beta = 0.5f, .bias = {bias, kN}},
                   {}, o.stream());
             }});
}

// Matrices one after the other; with a gap, behind which rows begin elsewhere; and column ranges of one
// matrix. One B for all.
template <class T>
void add_batches(std::vector<Operation>& all) {
  if (!check_factor_type("", dtype_of<T>).ok()) return;
  constexpr int64_t kBatches = 3, kM = 36, kN = 40, kK = 32;
  struct Form {
    const char* name;
    int64_t c_stride, c_batch, a_stride, a_batch;
  };
  for (const Form& form :
       {Form{"", kN, kM * kN, kK, kM * kK}, Form{"_with_gaps", kN, kM * kN + 1, kK, kM * kK + 1},
        Form{"_of_heads", kBatches * kN, kN, kBatches * kK, kK}})
    all.push_back(
        {concat("gemm_strided_batched_", name_of(dtype_of<T>), form.name), [=](Operands& o) {
           T *c = o.in_out(o.values_of<T>(kBatches * (kM * kN + 1))),
             *a = o.in(o.values_of<T>(kBatches * (kM * kK + 1))), *b = o.in(o.values_of<T>(kK * kN));
           const MatrixBatchView<T> vc = {c, kBatches, kM, kN, form.c_stride, form.c_batch},
                                    va = {a, kBatches, kM, kK, form.a_stride, form.a_batch},
                                    vb = {b, kBatches, kK, kN, kN, 0};
           return gemm_strided_batched(vc, va, vb, {.beta = 0.5f, .bias = {o.in(kN), kN}}, o.stream());
         }});
}

// Each matrix is an operand, with an alignment of its own.
template <class T>
void add_batches_by_pointers(std::vector<Operation>& all) {
  if (!check_factor_type("", dtype_of<T>).ok()) return;
  constexpr int64_t kBatches = 2, kM = 36, kN = 40, kK = 32;
  all.push_back({concat("gemm_batched_", name_of(dtype_of<T>)), [=](Operands& o) {
                   std::vector<T*> a, b, c;
                   for (int64_t i = 0; i < kBatches; ++i) {
                     c.push_back(o.in_out(o.values_of<T>(kM * kN)));
                     a.push_back(o.in(o.values_of<T>(kM * kK)));
                     b.push_back(o.in(o.values_of<T>(kK * kN)));
                   }
                   return gemm_batched(MatrixPointersView<T>{o.in_aligned(c), kBatches, kM, kN},
                                       MatrixPointersView<T>{o.in_aligned(a), kBatches, kM, kK},
                                       MatrixPointersView<T>{o.in_aligned(b), kBatches, kK, kN},
                                       {.beta = 0.5f, .bias = {o.in(kN), kN}}, o.stream());
                 }});
}

template <class T>
void add_tensor_products(std::vector<Operation>& all) {
  constexpr int64_t kM = 40, kN = 40, kK = 64;
  struct Form {
    const char* name;
    bool transpose_a, transpose_b;
    int64_t gap;  // between two rows of C: with 1, only some rows begin at a boundary
  };
  for (const TensorProduct<T>& product : tensor_products<T>())
    for (const auto& [name, transpose_a, transpose_b, gap] : {Form{"", false, false, 0},
                                                              {"_bt", false, true, 0},
                                                              {"_at", true, false, 0},
                                                              {"_at_bt", true, true, 0},
                                                              {"_bt_with_gaps", false, true, 1}}) {
      if (product.uses_wgmma && std::is_same_v<T, float> && (transpose_a || !transpose_b)) continue;
      all.push_back(
          {concat(product.name, "_", name_of(dtype_of<T>), name),
           [=, transpose_a = transpose_a, transpose_b = transpose_b, stride = kN + gap](Operands& o) {
             const auto in = [&](const std::vector<T>& all_values) {
               return product.uses_wgmma ? o.in_aligned(all_values) : o.in(all_values);
             };
             T *c = o.in_out(o.values_of<T>(kM * stride)), *a = in(o.values_of<T>(kM * kK)),
               *b = in(o.values_of<T>(kK * kN));
             const GemmOptions options = {.transpose_a = transpose_a,
                                          .transpose_b = transpose_b,
                                          .beta = 0.5f,
                                          .bias = {o.in(kN), kN},
                                          .math = product.math};
             return product.run(MatrixView<T>{c, kM, kN, stride},
                                transpose_a ? matrix<const T>(a, kK, kM) : matrix<const T>(a, kM, kK),
                                transpose_b ? matrix<const T>(b, kN, kK) : matrix<const T>(b, kK, kN),
                                options, {}, o.stream());
           }});
    }
}

}  // namespace

void add_products(std::vector<Operation>& all) {
  add_gemms(all);
  add_batches<float>(all);
  add_batches<__nv_bfloat16>(all);
  add_batches<__half>(all);
  add_batches_by_pointers<float>(all);
  add_batches_by_pointers<__nv_bfloat16>(all);
  add_batches_by_pointers<__half>(all);
  add_tensor_products<float>(all);
  add_tensor_products<__nv_bfloat16>(all);
  add_tensor_products<__half>(all);
}

}  // namespace rondo::test
