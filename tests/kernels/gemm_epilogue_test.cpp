// The epilogue of products: activations, whose bits are those of the elementwise operators, and residuals.
// gemm_drawn_test draws them for every arithmetic and tile.
#include <gtest/gtest.h>

#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/tests/kernels/drawn_products.h>

#include <vector>

namespace rondo::test {
namespace {

Status activate(VectorView<float> x, Activation activation, cudaStream_t stream) {
  switch (activation) {
    case Activation::none:
      return {};
    case Activation::relu:
      return relu(x, x, stream);
    case Activation::gelu:
      return gelu(x, x, stream);
    case Activation::gelu_tanh:
      return gelu_tanh(x, x, stream);
    case Activation::sigmoid:
      return sigmoid(x, x, stream);
  }
  return {};
}

// The sign of a NaN has no meaning.
std::vector<float> with_one_nan(std::vector<float> values) {
  for (float& value : values)
    if (std::isnan(value)) value = NAN;
  return values;
}

// Results over the whole range of the activations, and beyond it.
void check_bits(const GemmShape& shape, Math math) {
  if (!check_math("", math).ok()) return;
  const auto [m, n, k] = shape;
  std::vector<float> a_values = normal_values(m * k, 1);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      a_values[static_cast<size_t>(i * k + l)] *= std::ldexp(1.0f, int(i % 8) - 4);
  if (k > 0) a_values[0] = NAN, a_values[static_cast<size_t>((m - 1) * k)] = INFINITY;
  GuardedBuffer<float> a(a_values), b(normal_values(n * k, 2)), bias(normal_values(n, 3));
  const Stream stream;
  for (const Activation activation :
       {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::sigmoid}) {
    SCOPED_TRACE(concat(m, " x ", n, " x ", k, ", ", name_of(math), ", ", name_of(activation)));
    GuardedBuffer<float> fused(m * n), separate(m * n),
        scratch(gemm_workspace_bytes(shape, {.math = math}) / 4);
    const auto product = [&](GuardedBuffer<float>& c, Activation applied) {
      return gemm(matrix(c.data(), m, n), matrix(a.data(), m, k), matrix(b.data(), n, k),
                  {.transpose_b = true, .bias = bias.view(), .activation = applied, .math = math},
                  scratch.workspace(), stream);
    };
    ASSERT_TRUE(ok(product(fused, activation)));
    ASSERT_TRUE(ok(product(separate, Activation::none)));
    ASSERT_TRUE(ok(activate(separate.view(), activation, stream)));
    EXPECT_TRUE(all_equal_bits(with_one_nan(fused.download()), with_one_nan(separate.download())));
  }
}

TEST(GemmEpilogue, ActivationsHaveTheBitsOfTheirOperators) {
  for (const Math math : {Math::fp32, Math::tf32, Math::tf32x3})
    for (const GemmShape& shape :
         {GemmShape{70, 45, 33}, GemmShape{130, 260, 64}, GemmShape{40, 30, 3000}, GemmShape{33, 20, 0}})
      check_bits(shape, math);
}

TEST(GemmEpilogue, AResidualIsBetaTimesACopy) {
  constexpr int64_t kM = 67, kN = 44, kK = 50;
  GuardedBuffer<float> a(normal_values(kM * kK, 1)), b(normal_values(kK * kN, 2)),
      residual(normal_values(kM * kN, 3));
  GuardedBuffer<float> with_beta(residual.download()), with_residual(kM * kN), in_place(residual.download());
  const Stream stream;
  const auto product = [&](GuardedBuffer<float>& c, const GemmOptions& options) {
    return gemm(matrix(c.data(), kM, kN), matrix(a.data(), kM, kK), matrix(b.data(), kK, kN), options, {},
                stream);
  };
  const Activation gelu = Activation::gelu;
  ASSERT_TRUE(ok(product(with_beta, {.beta = 1, .activation = gelu})));
  ASSERT_TRUE(ok(product(with_residual, {.residual = matrix(residual.data(), kM, kN), .activation = gelu})));
  ASSERT_TRUE(ok(product(in_place, {.residual = matrix(in_place.data(), kM, kN), .activation = gelu})));
  EXPECT_TRUE(all_equal_bits(with_residual.download(), with_beta.download()));
  EXPECT_TRUE(all_equal_bits(in_place.download(), with_beta.download()));
}

TEST(GemmEpilogue, RefusesBadResiduals) {
  GuardedBuffer<float> a(exact_values(6 * 8, 1)), b(exact_values(8 * 5, 2)), c(2 * 6 * 7), r(2 * 6 * 7);
  GuardedBuffer<__half> halves(6 * 5);
  const Stream stream;
  const auto run = [&](const GemmOptions& options) {
    return gemm(MatrixView<float>{c.data(), 6, 5, 7}, matrix(a.data(), 6, 8), matrix(b.data(), 8, 5), options,
                {}, stream);
  };
  const MatrixView<float> good = {r.data(), 6, 5, 7};
  EXPECT_TRUE(ok(run({.residual = good})));
  EXPECT_TRUE(refused(run({.beta = 2, .residual = good}), "gemm: beta is 2, must be 0 with a residual"));
  EXPECT_TRUE(refused(run({.residual = MatrixView<const __half>{halves.data(), 6, 5, 5}}),
                      "gemm: residual is float16, must be float32 like c"));
  EXPECT_TRUE(refused(run({.residual = MatrixView<float>{r.data(), 6, 4, 7}}),
                      "gemm: residual is 6 x 4, must be 6 x 5 like c"));
  EXPECT_TRUE(refused(run({.residual = MatrixView<float>{r.data(), 6, 5, 5}}),
                      "gemm: residual.stride is 5, must be c.stride = 7"));
  EXPECT_TRUE(refused(run({.residual = MatrixView<float>{c.data() + 7, 6, 5, 7}}), "overlaps"));
  EXPECT_TRUE(refused(run({.activation = static_cast<Activation>(5)}),
                      "gemm: activation is the enumerator 5, must be from 0 to 4"));

  EXPECT_TRUE(refused(run({.residual = MatrixBatchView<float>{r.data(), 2, 6, 5, 7, 42}}),
                      "gemm: residual has 2 matrices, must be one"));

  const auto batch = [&](float* data, int64_t distance) {
    return MatrixBatchView<float>{data, 2, 6, 5, 7, distance};
  };
  const auto run_batch = [&](const GemmResidual& residual) {
    return gemm_strided_batched(batch(c.data(), 42), MatrixBatchView<const float>{a.data(), 2, 6, 8, 8, 0},
                                MatrixBatchView<const float>{b.data(), 2, 8, 5, 5, 0}, {.residual = residual},
                                stream);
  };
  EXPECT_TRUE(ok(run_batch(batch(r.data(), 42))));
  EXPECT_TRUE(refused(run_batch(batch(r.data(), 41)), "gemm_strided_batched: residual"));
  EXPECT_TRUE(refused(run_batch(good), "gemm_strided_batched: residual is 1 x 6 x 5, must be 2 x 6 x 5"));
}

// wgmma adds nothing to sums before a smooth activation: gemm() takes mma.sync, and the rungs refuse.
TEST(GemmEpilogue, SumsBeforeASmoothActivationAreNotForWgmma) {
  GemmProblem product = {
      {4096, 4096, 4096}, Arithmetic::bf16, {Order::k_major, 0, 4096}, {Order::k_major, 0, 4096}};
  DeviceProperties device;
  throw_if_error(device_properties(&device));
  device.wgmma = true;
  device.vectors_for_tensor_cores = false;
  EXPECT_EQ(choose_gemm_plan(product, device).tile.instruction, Instruction::wgmma);
  product.adds_before_smooth = true;
  EXPECT_EQ(choose_gemm_plan(product, device).tile.instruction, Instruction::mma);
  EXPECT_TRUE(
      refused(check_wgmma_operands("rung", product),
              "rung: GELU or sigmoid of a sum with beta or a residual; gemm_tc_04_pipelined takes it"));
}

}  // namespace
}  // namespace rondo::test
