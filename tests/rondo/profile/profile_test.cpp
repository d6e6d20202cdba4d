// `rondo profile` on the library's kernels. In a build that observes kernels: the counters that the ladder's
// page quotes, and a budget of bank conflicts and sectors for each production kernel. In other builds: the
// refusal.
#include <gtest/gtest.h>
#include <rondo/tools/rondo/profile/profile.h>

#include <sstream>

namespace rondo::program {
namespace {

TEST(ProfileWithoutObserving, IsRefused) {
  if (simt::can_observe()) GTEST_SKIP() << "needs a build without RONDO_OBSERVE";
  try {
    run_profile({});
    FAIL() << "a profile of nothing";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("tools/profile"), std::string::npos) << error.what();
  }
}

class Profile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
  }
};

ProfileArguments gemm_arguments(int64_t size, const std::string& variant) {
  ProfileArguments arguments;
  arguments.m = arguments.n = arguments.k = size;
  arguments.variant = variant;
  return arguments;
}

KernelTotals totals_of_variant(const std::string& variant) {
  const ProfileReport report = run_profile(gemm_arguments(128, variant));
  EXPECT_EQ(report.parts.size(), 1u);
  return report.parts.front().kernels.front().forecast.totals;
}

// Of the 128 x 128 x 128 product: 2^21 multiply-adds, 2^16 instructions of warps.
TEST_F(Profile, NaiveLoadsASectorForEachLane) {
  const KernelTotals totals = totals_of_variant("01_naive");
  EXPECT_EQ(totals.multiply_adds, 1 << 21);
  EXPECT_EQ(totals.warp_multiply_adds, 1 << 16);
  // Per multiply-add a value of A, 32 sectors of a warp, and one of B, 1 sector; and 512 stores of 32 sectors.
  EXPECT_EQ(totals.global_requests, 2 * (1 << 16) + 512);
  EXPECT_EQ(totals.global_sectors, 33 * (1 << 16) + 512 * 32);
}

TEST_F(Profile, CoalescedLoadsFourSectors) {
  const KernelTotals totals = totals_of_variant("02_coalesced");
  EXPECT_EQ(totals.global_requests, 2 * (1 << 16) + 512);
  EXPECT_EQ(totals.global_sectors, 5 * (1 << 16) + 512 * 4);
}

// 64 blocks of 8 warps; 8 k-tiles, for each of which a thread loads one value of A and one of B.
TEST_F(Profile, SharedTilesLoadEachValueOncePerBlock) {
  const KernelTotals totals = totals_of_variant("03_shared_tiles");
  EXPECT_EQ(totals.global_requests, 64 * 8 * (8 * 2 + 1));
  EXPECT_EQ(totals.global_sectors, 4 * totals.global_requests);
  // Two loads from shared memory for each multiply-add, and a store for each value.
  EXPECT_EQ(totals.shared_requests, 2 * (1 << 16) + 64 * 8 * 8 * 2);
  EXPECT_EQ(totals.shared_wavefronts, totals.shared_requests);
  EXPECT_EQ(totals.barriers, 64 * 8 * 2);
}

// 8 x 8 results per thread: 16 loads from shared memory for 64 multiply-adds.
TEST_F(Profile, RegisterTilesLoadAQuarterAsMuch) {
  const KernelTotals totals = totals_of_variant("04_register_tiles");
  const double stores = 4 * 8 * 2 * 64 * 16 / 32;  // 4 blocks, 8 k-tiles, 64 x 16 values of A and of B
  EXPECT_EQ(totals.warp_multiply_adds, 1 << 16);
  EXPECT_EQ(totals.shared_requests - stores, (1 << 16) / 4);
}

TEST_F(Profile, PipelinedHasNoBankConflicts) {
  const KernelTotals totals = totals_of_variant("06_pipelined");
  EXPECT_EQ(totals.warp_multiply_adds, 1 << 16);
  EXPECT_EQ(totals.shared_wavefronts, totals.least_shared_wavefronts);
}

// The figures in kernels/gemm/README.md and in the heads of the rungs, to their last digit.
TEST_F(Profile, LadderHasTheCountersOfItsPage) {
  struct Row {
    const char* rung;
    double global, sectors, wavefronts, barriers;
    int warps;
  };
  for (const Row& row :
       {Row{"01_naive", 2.01, 16.6, 0, 0, 64}, Row{"02_coalesced", 2.01, 2.5, 0, 0, 64},
        Row{"03_shared_tiles", 0.133, 4, 2.13, 1024, 48}, Row{"04_register_tiles", 0.039, 4, 0.297, 64, 16},
        Row{"05_vectorised", 0.0098, 19.2, 0.250, 64, 12}, Row{"06_pipelined", 0.0059, 21.3, 0.109, 4, 8}}) {
    const ProfileReport report = run_profile(gemm_arguments(128, row.rung));
    const KernelForecast& forecast = report.parts.front().kernels.front().forecast;
    const KernelTotals& totals = forecast.totals;
    EXPECT_NEAR(totals.global_requests / totals.warp_multiply_adds, row.global, 0.01 * row.global)
        << row.rung;
    EXPECT_NEAR(totals.global_sectors / totals.global_requests, row.sectors, 0.01 * row.sectors) << row.rung;
    EXPECT_NEAR(totals.shared_wavefronts / totals.warp_multiply_adds, row.wavefronts, 0.01 * row.wavefronts)
        << row.rung;
    EXPECT_EQ(totals.barriers, row.barriers) << row.rung;
    EXPECT_EQ(forecast.occupancy.warps, row.warps) << row.rung;
  }
}

// Each kernel of some work: the wavefronts and sectors in units of those that the same accesses need at least.
struct Budget {
  const char* kernel;  // the beginning of its name
  double wavefronts, sectors;
};

void expect_within(const ProfileArguments& arguments, std::initializer_list<Budget> budgets) {
  for (const ProfiledPart& part : run_profile(arguments).parts)
    for (const ProfiledKernel& kernel : part.kernels) {
      const KernelTotals& totals = kernel.forecast.totals;
      const Budget* budget = nullptr;
      for (const Budget& candidate : budgets)
        if (kernel.name.starts_with(candidate.kernel)) budget = &candidate;
      ASSERT_TRUE(budget) << kernel.name << " has no budget";
      EXPECT_LE(totals.shared_wavefronts, budget->wavefronts * totals.least_shared_wavefronts)
          << part.name << ": " << kernel.name;
      EXPECT_LE(totals.global_sectors, budget->sectors * totals.least_global_sectors)
          << part.name << ": " << kernel.name;
    }
}

TEST_F(Profile, GemmIsWithinItsBudget) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const char* variant : {"gemm", "06_pipelined"}) {
        ProfileArguments arguments = gemm_arguments(256, variant);
        arguments.k = 128;
        arguments.transpose_a = transpose_a;
        arguments.transpose_b = transpose_b;
        expect_within(arguments, {{"gemm_06_pipelined", 1, 1.4}, {"sum_partials", 1, 2}});
      }
}

TEST_F(Profile, DirectConvolutionIsWithinItsBudget) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.images = 2;
  arguments.algorithm = ConvAlgorithm::direct;
  expect_within(arguments, {{"conv2d_kernel", 1.15, 1.1}, {"conv2d_filter", 1, 1.15}, {"sum_partials", 1, 2}});
}

TEST_F(Profile, WinogradIsWithinItsBudget) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.images = 2;
  arguments.algorithm = ConvAlgorithm::winograd;
  expect_within(arguments, {{"winograd::transform_filter", 1, 2.1},
                            {"winograd::winograd_forward", 1.02, 1.05},
                            {"winograd::winograd_filter_gradient", 1.02, 1.2},
                            {"sum_partials", 1, 2}});
}

TEST_F(Profile, LeNetsConvolutionsAreWithinTheirBudget) {
  ProfileArguments first;
  first.work = ProfiledWork::conv;
  first.images = 8;
  first.channels = 1;
  first.filters = 20;
  first.pad = 0;
  expect_within(first, {{"few_channels_forward", 1, 3.9},
                        {"few_channels_filter", 1.1, 6.3},
                        {"conv2d_kernel", 1.35, 1.5},
                        {"sum_partials", 1, 1.4}});
  ProfileArguments second = first;
  second.height = second.width = 13;
  second.channels = 20;
  second.filters = 50;
  second.filter_size = 5;
  expect_within(second, {{"conv2d_kernel", 1.2, 1.7}, {"conv2d_filter", 1.1, 2}, {"sum_partials", 1, 2}});
}

TEST_F(Profile, OtherOperationsAreWithinTheirBudget) {
  ProfileArguments arguments;
  arguments.images = 4;
  for (const char* kind : {"avg", "max"}) {
    arguments.work = ProfiledWork::pool;
    arguments.pool = kind;
    expect_within(arguments, {{"avg_pool", 1, 1}, {"max_pool_kernel", 1, 1}, {"max_pool_backward", 1, 1.5}});
  }
  arguments.work = ProfiledWork::batch_norm;
  arguments.rows = 3136;
  expect_within(arguments,
                {{"columns::column_sums", 2.6, 1.05}, {"statistics", 1, 1}, {"norm::row_map", 1, 1.5}});
  arguments.work = ProfiledWork::cross_entropy;
  arguments.rows = 256;
  expect_within(arguments, {{"row_per_thread", 1.2, 7.9}, {"sum_loss_stats", 1.2, 1.4}});
  arguments.work = ProfiledWork::all_reduce;
  arguments.bytes = 65536;
  expect_within(arguments, {{"detail::reduce", 1, 1}});
}

TEST_F(Profile, StepOfLeNetNamesItsKernels) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::train;
  arguments.model = "lenet";
  arguments.batch = 64;
  const ProfileReport report = run_profile(arguments);
  ASSERT_EQ(report.parts.size(), 1u);
  EXPECT_GT(report.parts[0].kernels.size(), 20u);
  EXPECT_GT(report.parts[0].least_seconds(), 0);
  std::ostringstream text;
  show_profile_text(report, true, text);
  EXPECT_NE(text.str().find("few_channels_forward_kernel"), std::string::npos);
  EXPECT_NE(text.str().find("nothing here is measured"), std::string::npos);
  EXPECT_NE(profile_json(report).find("\"measured\": false"), std::string::npos);
  EXPECT_NE(profile_svg(report).find("</svg>"), std::string::npos);
}

TEST_F(Profile, UnknownNamesAreRefused) {
  ProfileArguments arguments = gemm_arguments(64, "07_magic");
  EXPECT_THROW(run_profile(arguments), Error);
  arguments = gemm_arguments(64, "gemm");
  arguments.gpu = "voodoo";
  EXPECT_THROW(run_profile(arguments), Error);
}

}  // namespace
}  // namespace rondo::program
