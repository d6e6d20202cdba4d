// Budgets in a build that observes kernels: no bank conflict in the kernels of wgmma, of tf32x3 and of tf32
// convolutions, and accesses of 16 bytes in the elementwise operators of 16-bit types.
#include <gtest/gtest.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/profile/source_place.h>

#include <simt/observe.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::program {
namespace {

class TensorBudget : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
  }
};

ProfileArguments gemm_arguments(int64_t size, const std::string& variant, DType type, Math math) {
  ProfileArguments arguments;
  arguments.m = arguments.n = arguments.k = size;
  arguments.variant = variant;
  arguments.type = type;
  arguments.math = math;
  return arguments;
}

void expect_no_conflicts(const ProfiledKernel& kernel) {
  EXPECT_LE(kernel.forecast.totals.shared_wavefronts, kernel.forecast.totals.least_shared_wavefronts)
      << kernel.name;
}

// From tc_06 on the stores go through shared memory, and are whole sectors.
TEST_F(TensorBudget, RungsOfWgmma) {
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16})
    for (const char* rung :
         {"tc_05_wgmma", "tc_06_warp_specialized", "tc_07_persistent", "tc_08_clusters", "tc_09_stream_k"})
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true}) {
          if (type == DType::float32 && (transpose_a || !transpose_b)) continue;  // tf32 along k only
          SCOPED_TRACE(concat(name_of(type), ", ", rung, ", transposed ", transpose_a, transpose_b));
          ProfileArguments arguments =
              gemm_arguments(128, rung, type, type == DType::float32 ? Math::tf32 : Math::fp32);
          arguments.transpose_a = transpose_a, arguments.transpose_b = transpose_b;
          const ProfileReport report = run_profile(arguments);
          const ProfiledKernel& kernel = report.parts.front().kernels.front();
          expect_no_conflicts(kernel);
          if (std::string(rung) != "tc_05_wgmma") {
            EXPECT_LE(kernel.forecast.totals.global_sectors, kernel.forecast.totals.least_global_sectors);
          }
        }
}

// The figures in kernels/gemm/README.md, of 256 x 256 x 128: a tile of tc_08, two of the others.
TEST_F(TensorBudget, RungsOfWgmmaHaveTheCountersOfTheirPage) {
  struct Row {
    const char* rung;
    double requests, sectors, wavefronts, barriers;
  };
  for (const Row& row :
       {Row{"tc_05_wgmma", 0.625, 9.6, 0.5, 12}, Row{"tc_06_warp_specialized", 0.21875, 11.43, 1.375, 2},
        Row{"tc_07_persistent", 0.21875, 11.43, 1.375, 2}, Row{"tc_08_clusters", 0.1875, 10.67, 1.375, 2},
        Row{"tc_09_stream_k", 0.21875, 11.43, 1.375, 2}}) {
    SCOPED_TRACE(row.rung);
    ProfileArguments arguments = gemm_arguments(256, row.rung, DType::bfloat16, Math::fp32);
    arguments.k = 128;
    const ProfileReport report = run_profile(arguments);
    const KernelTotals& totals = report.parts.front().kernels.front().forecast.totals;
    constexpr double kProducts = 256 * 256 * 128 / (16 * 8 * 16);
    EXPECT_EQ(totals.global_requests / kProducts, row.requests);
    EXPECT_NEAR(totals.global_sectors / totals.global_requests, row.sectors, 0.005);
    EXPECT_EQ(totals.shared_wavefronts / kProducts, row.wavefronts);
    EXPECT_EQ(totals.barriers, row.barriers);
  }
}

TEST_F(TensorBudget, Tf32x3) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      SCOPED_TRACE(concat("transposed ", transpose_a, transpose_b));
      ProfileArguments arguments = gemm_arguments(128, "tc_04_pipelined", DType::float32, Math::tf32x3);
      arguments.transpose_a = transpose_a, arguments.transpose_b = transpose_b;
      const ProfileReport report = run_profile(arguments);
      expect_no_conflicts(report.parts.front().kernels.front());
    }
  // Large enough for wgmma.
  ProfileArguments arguments = gemm_arguments(1100, "gemm", DType::float32, Math::tf32x3);
  arguments.k = 64;
  arguments.transpose_b = true;
  arguments.blocks = 4;
  const ProfileReport report = run_profile(arguments);
  const ProfiledKernel& kernel = report.parts.front().kernels.front();
  EXPECT_NE(kernel.name.find("persistent_tf32x3"), std::string::npos) << kernel.name;
  expect_no_conflicts(kernel);
}

// Forward and data gradient by wgmma, the filter gradient by mma.sync.
TEST_F(TensorBudget, Tf32Convolutions) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.math = Math::tf32;
  arguments.images = 32;
  std::string by_wgmma;
  for (const ProfiledPart& part : run_profile(arguments).parts)
    for (const ProfiledKernel& kernel : part.kernels) {
      expect_no_conflicts(kernel);
      if (kernel.name.find("conv2d_wgmma") != std::string::npos) by_wgmma += concat(part.name, " ");
    }
  EXPECT_EQ(by_wgmma, "forward data_gradient ");
}

template <class T>
void expect_wide_accesses() {
  constexpr int64_t kSize = 5000;  // a tail of 8 elements behind whole blocks of a warp
  Buffer<T> a(kSize), b(kSize), y(kSize);
  Buffer<float> floats(kSize);
  Buffer<int64_t> step(1);
  for (Buffer<T>* const buffer : {&a, &b, &y}) buffer->fill_bytes(0);
  floats.fill_bytes(0);
  step.fill_bytes(0);
  const VectorView<const T> from = {a.data(), kSize}, other = {b.data(), kSize};
  const VectorView<T> to = {y.data(), kSize};
  const Stream stream;
  const std::pair<const char*, std::function<Status()>> operators[] = {
      {"relu", [&] { return relu(to, from, stream); }},
      {"relu_backward", [&] { return relu_backward(to, from, other, stream); }},
      {"add", [&] { return add(to, from, other, true, stream); }},
      {"dropout", [&] { return dropout(to, from, 0.25f, {.seed = 1, .step = step.data()}, stream); }},
      {"cast to",
       [&] {
         return cast(to, VectorView<const float>{floats.data(), kSize}, stream);
       }},
      {"cast from", [&] {
         return cast(VectorView<float>{floats.data(), kSize}, from, stream);
       }}};
  for (const auto& [name, run] : operators) {
    SCOPED_TRACE(concat(name, ", ", name_of(dtype_of<T>)));
    ASSERT_EQ(simt::start_profile(), cudaSuccess);
    const Status status = run();
    const std::vector<simt::KernelProfile> profiles = simt::stop_profile();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(profiles.size(), 1u);
    uint64_t bytes = 0;
    for (const simt::AccessCounts& access : profiles.front().accesses) {
      if (access.space != simt::AccessSpace::global || access.requests == 0) continue;
      if (access.bytes == 8 && std::string(name) == "dropout") continue;  // the step
      EXPECT_EQ(access.bytes, 16) << source_place(access);
      bytes += access.bytes_requested();
    }
    EXPECT_GE(bytes, static_cast<uint64_t>(2 * kSize) * sizeof(T));
  }
}

TEST_F(TensorBudget, ElementwiseOperatorsOf16BitsHold16BytesAnAccess) {
  expect_wide_accesses<__nv_bfloat16>();
  expect_wide_accesses<__half>();
}

}  // namespace
}  // namespace rondo::program
