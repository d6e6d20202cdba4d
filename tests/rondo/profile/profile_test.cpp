// `rondo profile` on the library's kernels. In a build that observes kernels: the counters that the ladder's
// page quotes, and a budget of bank conflicts and sectors for each production kernel. In other builds: the
// refusal. Above 400 lines because each production kernel has its budget here.
#include <gtest/gtest.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/profile/compiled_kernels.h>
#include <rondo/tools/rondo/profile/draw.h>
#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/profile/source_place.h>

#include <array>
#include <sstream>

namespace rondo::program {
namespace {

TEST(ProfileWithoutObserving, IsRefused) {
  if (simt::can_observe()) GTEST_SKIP() << "needs a build without RONDO_OBSERVE";
  try {
    run_profile({});
    FAIL() << "a profile of nothing";
  } catch (const Error& error) {
    EXPECT_EQ(test::missing(error.what(), {"tools/profile, in Rondo's source folder"}), "");
  }
}

TEST(CompiledKernels, SaysWhatTheFileMustBe) {
  const test::TemporaryDirectory folder;
  for (const char* text : {"3", "{\"kernels\": {\"a.cu: a\": {\"90\": {\"registers\": \"x\"}}}}", "[", ""}) {
    test::write_file(folder / "budget.json", test::bytes_of(text));
    const std::string message = test::error_of([&] { CompiledKernels(folder / "budget.json"); });
    EXPECT_EQ(
        test::missing(message, {"--compiled is ", "budget.json, must be a budget of tools/sass-report: {"}),
        "");
    EXPECT_EQ(message.find("json.exception"), std::string::npos) << message;
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
  // Per multiply-add a value of A, 32 sectors of a warp, and one of B, 1 sector; and 512 stores of 32
  // sectors.
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
        Row{"03_shared_tiles", 0.133, 4, 2.12, 1024, 48}, Row{"04_register_tiles", 0.039, 4, 0.297, 64, 16},
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
  std::ostringstream text;
  show_profile_text(run_profile(gemm_arguments(128, "06_pipelined")), false, text);
  EXPECT_NE(text.str().find("65,536                0.0059"), std::string::npos) << text.str();
}

// 2^21 multiply-adds: products of 16 x 8 x 8 (tf32) or 16 x 8 x 16.
TEST_F(Profile, TensorRungsCountTheirProducts) {
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16})
    for (const char* rung : {"tc_01_fragments", "tc_02_shared_tiles", "tc_03_ldmatrix", "tc_04_pipelined"}) {
      SCOPED_TRACE(concat(name_of(type), ", ", rung));
      ProfileArguments arguments = gemm_arguments(128, rung);
      arguments.type = type;
      if (type == DType::float32) arguments.math = Math::tf32;
      const ProfileReport report = run_profile(arguments);
      const ProfiledKernel& kernel = report.parts.front().kernels.front();
      EXPECT_EQ(kernel.profile.tf32_multiply_adds, type == DType::float32 ? 1u << 21 : 0u);
      EXPECT_EQ(kernel.profile.narrow_multiply_adds, type == DType::float32 ? 0u : 1u << 21);
      EXPECT_EQ(kernel.profile.tensor_products, (1u << 21) / (type == DType::float32 ? 1024 : 2048));
      EXPECT_EQ(kernel.profile.multiply_adds, 0u);
      // The element type, or of the pipelined kernel the arithmetic.
      const bool bf16 = type == DType::bfloat16;
      const char* cuda_name = bf16 ? "__nv_bfloat16" : "__half";
      const char* arithmetic = bf16 ? "(Arithmetic)3" : "(Arithmetic)4";
      const auto names = [&](const char* what) { return kernel.name.find(what) != std::string::npos; };
      EXPECT_EQ(names(cuda_name) || names(arithmetic), type != DType::float32) << kernel.name;
      for (const simt::AccessCounts& access : kernel.profile.accesses) EXPECT_NE(source_place(access), "?");
    }
  ProfileArguments three = gemm_arguments(128, "tc_04_pipelined");
  three.math = Math::tf32x3;
  EXPECT_EQ(run_profile(three).parts.front().kernels.front().profile.tf32_multiply_adds, 3u << 21);
}

// Rungs of wgmma count the products of their whole tiles, 16 x 128 x 8 (tf32) or 16 x 128 x 16 of each warp,
// and 256 columns from rung 06 on. Their bulk copies read each k-tile once: A and B are 32 KB each, or 64
// KB.
TEST_F(Profile, WgmmaRungsCountTheirProductsAndCopies) {
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16})
    for (const char* rung :
         {"tc_05_wgmma", "tc_06_warp_specialized", "tc_07_persistent", "tc_08_clusters", "tc_09_stream_k"}) {
      SCOPED_TRACE(concat(name_of(type), ", ", rung));
      ProfileArguments arguments = gemm_arguments(128, rung);
      arguments.type = type;
      arguments.transpose_b = true;
      if (type == DType::float32) arguments.math = Math::tf32;
      const ProfileReport report = run_profile(arguments);
      const ProfiledKernel& kernel = report.parts.front().kernels.front();
      const int columns = std::string(rung) == "tc_05_wgmma" ? 128 : 256;
      const int bytes = type == DType::float32 ? 4 : 2;
      const unsigned rows = std::string(rung) == "tc_08_clusters" ? 256 : 128;  // half of them beyond A
      const uint64_t multiply_adds = uint64_t{rows} * 128 * static_cast<unsigned>(columns);
      EXPECT_EQ(kernel.profile.tf32_multiply_adds, bytes == 4 ? multiply_adds : 0);
      EXPECT_EQ(kernel.profile.narrow_multiply_adds, bytes == 2 ? multiply_adds : 0);
      EXPECT_EQ(kernel.profile.tensor_products,
                multiply_adds / static_cast<unsigned>(16 * columns * 32 / bytes));
      EXPECT_EQ(kernel.profile.launch_bytes_read, static_cast<uint64_t>(2 * 128 * 128 * bytes));
    }
}

// The figures in kernels/gemm/README.md.
TEST_F(Profile, TensorLadderHasTheCountersOfItsPage) {
  struct Counters {
    double requests, sectors, wavefronts, least_wavefronts;
    int barriers;
  };
  struct Row {
    const char* rung;
    Counters narrow, tf32;
  };
  for (const Row& row : {Row{"tc_01_fragments", {4.5, 6.2, 0, 0, 0}, {2.25, 6.2, 0, 0, 0}},
                         Row{"tc_02_shared_tiles", {2.5, 3.2, 7, 4, 16}, {1.25, 4.8, 4.5, 3, 32}},
                         Row{"tc_03_ldmatrix", {0.75, 10.7, 3, 3, 16}, {0.5, 12, 3, 3, 32}},
                         Row{"tc_04_pipelined", {0.25, 12, 2.5, 2.5, 3}, {0.1875, 16, 2, 2, 5}}})
    for (const DType type : {DType::bfloat16, DType::float16, DType::float32}) {
      SCOPED_TRACE(concat(row.rung, ", ", name_of(type)));
      const Counters& want = type == DType::float32 ? row.tf32 : row.narrow;
      ProfileArguments arguments = gemm_arguments(128, row.rung);
      arguments.type = type;
      if (type == DType::float32) arguments.math = Math::tf32;
      const ProfileReport report = run_profile(arguments);
      const ProfiledKernel& kernel = report.parts.front().kernels.front();
      const KernelTotals& totals = kernel.forecast.totals;
      const auto products = static_cast<double>(kernel.profile.tensor_products);
      EXPECT_EQ(totals.global_requests, want.requests * products);
      EXPECT_NEAR(totals.global_sectors / totals.global_requests, want.sectors, 0.05);
      EXPECT_EQ(totals.shared_wavefronts, want.wavefronts * products);
      EXPECT_EQ(totals.least_shared_wavefronts, want.least_wavefronts * products);
      EXPECT_EQ(totals.barriers, want.barriers);
    }
}

// No bank conflicts in any layout.
TEST_F(Profile, TensorTilesAreWithinTheirBudget) {
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16})
    for (const char* rung : {"tc_03_ldmatrix", "tc_04_pipelined"})
      for (const bool transpose_a : {false, true})
        for (const bool transpose_b : {false, true}) {
          SCOPED_TRACE(concat(name_of(type), ", ", rung, ", transposed ", transpose_a, transpose_b));
          ProfileArguments arguments = gemm_arguments(128, rung);
          arguments.type = type;
          arguments.transpose_a = transpose_a, arguments.transpose_b = transpose_b;
          if (type == DType::float32) arguments.math = Math::tf32;
          const KernelTotals totals = run_profile(arguments).parts.front().kernels.front().forecast.totals;
          EXPECT_LE(totals.shared_wavefronts, totals.least_shared_wavefronts);
        }
}

// The 32 lanes of a warp of rung 01 read A in 32 rows.
TEST_F(Profile, DrawsTheSectorsOfTheNaiveRung) {
  const ProfileReport report = run_profile(gemm_arguments(64, "01_naive"));
  const simt::AccessCounts* load_of_a = nullptr;
  for (const simt::AccessCounts& access : report.parts[0].kernels[0].profile.accesses)
    if (access.kind == simt::AccessKind::load && access.sectors == 32 * access.requests) load_of_a = &access;
  ASSERT_TRUE(load_of_a);
  const std::vector<AccessDrawing> drawings = drawings_of_line(report, source_place(*load_of_a));
  ASSERT_EQ(drawings.size(), 1u);
  const std::string text = drawing_text(drawings[0], {});
  EXPECT_NE(text.find("\n7936     31  .  .  .  .  .  .  .\n"), std::string::npos)
      << text;  // 31 rows of 256 bytes
  EXPECT_NE(text.find("sectors 32, at least 4"), std::string::npos) << text;
}

// The figures of a kernel on a page, to their last digit. Wavefronts are per multiply-add in kernels/conv,
// per request in kernels/reduce.
struct PageRow {
  const char* kernel;
  double multiply_adds, requests, sectors, wavefronts, barriers;
  int warps;
};
void expect_row(const ProfiledKernel& kernel, const PageRow& row) {
  const KernelTotals& totals = kernel.forecast.totals;
  const double unit = totals.warp_multiply_adds > 0 ? totals.warp_multiply_adds : totals.shared_requests;
  EXPECT_TRUE(kernel.name.starts_with(row.kernel)) << kernel.name;
  EXPECT_EQ(totals.warp_multiply_adds, row.multiply_adds) << row.kernel;
  EXPECT_NEAR(totals.global_requests / (totals.warp_multiply_adds > 0 ? totals.warp_multiply_adds : 1),
              row.requests, 0.005 * row.requests)
      << row.kernel;
  EXPECT_NEAR(totals.global_sectors / totals.global_requests, row.sectors, 0.005 * row.sectors) << row.kernel;
  if (row.wavefronts > 0) {
    EXPECT_NEAR(totals.shared_wavefronts / unit, row.wavefronts, 0.005 * row.wavefronts) << row.kernel;
  }
  if (row.barriers > 0) {
    EXPECT_EQ(totals.barriers, row.barriers) << row.kernel;
  }
  EXPECT_EQ(kernel.forecast.occupancy.warps, row.warps) << row.kernel;
}
void expect_microseconds(double seconds, double page) {
  EXPECT_NEAR(1e6 * seconds, page, 0.005 * page + 0.005);
}
double seconds_of(const ProfiledPart& part, Resource resource) {
  double seconds = 0;
  for (const ProfiledKernel& kernel : part.kernels)
    seconds += kernel.forecast.seconds[static_cast<size_t>(resource)];
  return seconds;
}

// kernels/conv/README.md
TEST_F(Profile, ConvolutionsHaveTheCountersOfTheirPage) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.height = arguments.width = 32;
  arguments.pass = "forward";
  arguments.algorithm = "all";
  const auto expect_page = [&](std::initializer_list<PageRow> rows,
                               std::initializer_list<std::array<double, 6>> times) {
    const ProfileReport report = run_profile(arguments);
    ASSERT_EQ(report.parts.size(), rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const ProfiledPart& part = report.parts[i];
      expect_row(part.kernels.back(), rows.begin()[i]);
      const std::array<double, 6>& page = times.begin()[i];
      size_t column = 0;
      for (const Resource resource :
           {Resource::memory, Resource::l2, Resource::shared, Resource::fma, Resource::issue})
        expect_microseconds(seconds_of(part, resource), page[column++]);
      expect_microseconds(part.min_seconds(), page[5]);
    }
  };
  expect_page({{"conv2d_kernel", 36962304, 0.0199, 6.93, 0.168, 0, 10},
               {"winograd::winograd_forward", 16777216, 0.0474, 4.21, 0.113, 0, 16}},
              {{5.05, 19.6, 29.6, 36.5, 40.6, 40.6}, {5.21, 13.2, 11.6, 16.5, 18.3, 19.7}});
  arguments.channels = 3;
  expect_page({{"few_channels_forward", 1732608, 0.262, 4, 0.136, 0, 16},
               {"conv2d_kernel", 2097152, 0.0391, 11.4, 0.211, 0, 10}},
              {{2.62, 1.61, 2.72, 1.71, 2.23, 2.72}, {2.62, 2.34, 2.66, 2.07, 2.45, 2.66}});
}

// docs/profiling.md: what cuBLAS reached on an H100 is below the bounds, and not far. Observes four blocks.
TEST_F(Profile, BoundsAreAboveThePublishedSpeedOfCublas) {
  struct Row {
    const char* variant;
    DType type;
    Math math;
    bool transpose_b;
    double teraflops;  // of cuBLAS
  };
  for (const Row& row : {Row{"06_pipelined", DType::float32, Math::fp32, false, 45.7},
                         Row{"tc_08_clusters", DType::float32, Math::tf32, true, 399},
                         Row{"tc_08_clusters", DType::float16, Math::fp32, false, 726}}) {
    ProfileArguments arguments;
    arguments.m = arguments.n = arguments.k = 4096;
    arguments.variant = row.variant;
    arguments.type = row.type;
    arguments.math = row.math;
    arguments.transpose_b = row.transpose_b;
    arguments.blocks = 4;
    const ProfileReport report = run_profile(arguments);
    const double at_most = 2.0 * 4096 * 4096 * 4096 / report.parts.front().min_seconds() / 1e12;
    EXPECT_GT(row.teraflops / at_most, 0.7) << row.variant;
    EXPECT_LT(row.teraflops / at_most, 0.9) << row.variant;
  }
}

// kernels/reduce/README.md
TEST_F(Profile, ReductionsHaveTheCountersOfTheirPage) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::batch_norm;
  const ProfileReport sums = run_profile(arguments);
  const std::vector<ProfiledKernel>& forward = sums.parts.front().kernels;
  expect_row(forward[0], {"columns::column_sums_kernel<4", 0, 12740, 15.9, 2, 0, 40});
  expect_row(forward[1], {"columns::column_sums_kernel<1", 0, 200, 8, 2, 0, 64});
  expect_microseconds(forward[0].forecast.seconds[size_t(Resource::memory)], 1.93);
  expect_microseconds(forward[0].forecast.seconds[size_t(Resource::shared)], 0.33);

  arguments.work = ProfiledWork::cross_entropy;
  arguments.rows = 1024;
  arguments.classes = 64;
  const ProfileReport threads = run_profile(arguments);
  expect_row(threads.parts[0].kernels[0], {"row_per_thread", 0, 2208, 30.7, 0, 8, 48});
  expect_microseconds(threads.parts[0].kernels[0].forecast.seconds[size_t(Resource::shared)], 1.39);
  arguments.classes = 65;
  const ProfileReport lanes = run_profile(arguments);
  const ProfiledKernel& of_lanes = lanes.parts[0].kernels[0];
  expect_row(of_lanes, {"rows::row_kernel<rows::Tile<4", 0, 9600, 10.37, 0, 0, 64});
  EXPECT_EQ(of_lanes.forecast.totals.barriers, 0);
  expect_microseconds(of_lanes.forecast.seconds[size_t(Resource::shared)], 0.39);
}

TEST_F(Profile, AnAllReduceOfPartsOfElementsIsRefused) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::all_reduce;
  arguments.bytes = 4097;
  try {
    run_profile(arguments);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--bytes is 4097, must be a multiple of 4, the size of a float32");
  }
}

// An algorithm that cannot compute the convolution is refused; `all` leaves it out.
TEST_F(Profile, AnAlgorithmThatDoesNotFitIsRefused) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.images = 1;
  arguments.height = arguments.width = 8;
  const auto refused = [&](const char* algorithm, const char* reason) {
    arguments.algorithm = algorithm;
    try {
      run_profile(arguments);
      FAIL() << algorithm;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), concat("--algorithm is '", algorithm, "', which needs ", reason));
    }
  };
  refused("few_channels", "at most 4 channels, and filters of at most 48 KB");
  arguments.channels = 3;
  refused("winograd",
          "3 x 3 filters, stride 1, padding up to 2, channels and filters in multiples of 16, the math fp32 "
          "and the type float32");
  arguments.algorithm = "all";
  const ProfileReport report = run_profile(arguments);
  ASSERT_EQ(report.parts.size(), 6u);
  EXPECT_EQ(report.parts[0].name, "few_channels forward");
  EXPECT_EQ(report.parts[5].name, "implicit_gemm filter_gradient");
  // The first layer's filter gradient by the other kernel than the library's choice.
  EXPECT_TRUE(report.parts[5].kernels[0].name.starts_with("conv2d_filter"))
      << report.parts[5].kernels[0].name;
  EXPECT_TRUE(report.parts[2].kernels[0].name.starts_with("few_channels")) << report.parts[2].kernels[0].name;
}

// The drawing in docs/profiling.md. Those of gemm_elements.cuh, which the line calls, come after it.
TEST_F(Profile, TheDocumentationShowsTheDrawing) {
  const ProfileReport report = run_profile(gemm_arguments(64, "04_register_tiles"));
  const std::vector<AccessDrawing> drawings = drawings_of_line(report, "gemm_04_register_tiles.cu:39");
  EXPECT_EQ(
      test::missing(test::read_text(SOURCE_DIR "/docs/profiling.md"),
                    {"--draw gemm_04_register_tiles.cu:39\n...\n" + drawing_text(drawings.front(), {})}),
      "");
}

// Each kernel of some work: the wavefronts and sectors in units of those that the same accesses need at
// least.
struct Budget {
  const char* kernel;  // the beginning of its name
  double wavefronts, sectors;
};

// Of several budgets for a kernel, the last one counts.
void expect_within(const ProfileArguments& arguments, const std::vector<Budget>& budgets) {
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
        expect_within(arguments, {{"gemm_pipelined", 1, 1.4}, {"sum_partials", 1, 2}});
      }
}

TEST_F(Profile, DirectConvolutionIsWithinItsBudget) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.images = 2;
  arguments.algorithm = "direct";
  expect_within(arguments,
                {{"conv2d_kernel", 1.001, 1.1}, {"conv2d_filter", 1, 1.15}, {"sum_partials", 1, 2}});
}

TEST_F(Profile, WinogradIsWithinItsBudget) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.images = 2;
  arguments.algorithm = "winograd";
  expect_within(arguments, {{"winograd::transform_filter", 1, 2.1},
                            {"winograd::winograd_forward", 1.02, 1.05},
                            {"winograd::winograd_filter_gradient", 1.02, 1.2},
                            {"sum_partials", 1, 2}});
  // With several panels of filters too, a warp transforms whole sectors.
  arguments.height = arguments.width = 8;
  arguments.channels = arguments.filters = 128;
  arguments.pass = "forward";
  expect_within(arguments,
                {{"winograd::transform_filter", 1, 2.1}, {"winograd::winograd_forward", 1.02, 1.05}});
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
                        {"conv2d_kernel", 1.002, 1.5},
                        {"sum_partials", 1, 1.4}});
  ProfileArguments second = first;
  second.height = second.width = 13;
  second.channels = 20;
  second.filters = 50;
  second.filter_size = 5;
  expect_within(second, {{"conv2d_kernel", 1.001, 1.7}, {"conv2d_filter", 1, 2}, {"sum_partials", 1, 2}});
}

// A layer of ResNet-18, and a first layer.
TEST_F(Profile, Bfloat16ConvolutionsAreWithinTheirBudget) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.type = DType::bfloat16;
  arguments.images = 32;
  expect_within(arguments,
                {{"conv2d_wgmma", 1, 1}, {"filter_gradient_wgmma", 1, 1}, {"sum_partials", 1, 1.2}});
  arguments.images = 8;
  arguments.channels = 1;
  expect_within(arguments, {{"few_channels_forward", 1, 1.6},
                            {"few_channels_filter", 1.2, 1.9},
                            {"conv2d_kernel", 1.3, 1.2},
                            {"sum_partials", 1, 1.5}});
}

// On an H100, layers of ResNet-18 are computed by wgmma. The boxes of pixels fill the tiles, so that the
// products are those of the definition with its padding. Nine taps are five pairs of rows of the filter
// gradient.
TEST_F(Profile, WgmmaConvolutionsCountTheirProducts) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.type = DType::bfloat16;
  arguments.images = 32;
  for (const ProfiledPart& part : run_profile(arguments).parts) {
    const ProfiledKernel& kernel = part.kernels.front();
    SCOPED_TRACE(kernel.name);
    EXPECT_NE(kernel.name.find("wgmma"), std::string::npos);
    const uint64_t taps = part.name == "filter_gradient" ? 10 : 9;
    EXPECT_EQ(kernel.profile.narrow_multiply_adds, uint64_t{32} * 28 * 28 * 64 * 64 * taps);
    // The table of kernels/conv/README.md.
    const bool filter = part.name == "filter_gradient";
    const std::array<double, 6> page = filter ? std::array<double, 6>{4.16, 5.96, 3.25, 2.19, 0.34, 6.78}
                                              : std::array<double, 6>{1.94, 2.93, 2.64, 1.87, 0.3, 2.93};
    size_t column = 0;
    for (const Resource resource :
         {Resource::memory, Resource::l2, Resource::shared, Resource::tensor, Resource::issue})
      expect_microseconds(seconds_of(part, resource), page[column++]);
    expect_microseconds(part.min_seconds(), page[5]);
  }
}

TEST_F(Profile, OtherOperationsAreWithinTheirBudget) {
  ProfileArguments arguments;
  arguments.images = 4;
  for (const char* kind : {"avg", "max"}) {
    arguments.work = ProfiledWork::pool;
    arguments.pool = kind;
    for (const DType type : {DType::float32, DType::bfloat16}) {
      arguments.type = type;
      expect_within(arguments, {{"avg_pool", 1, 1}, {"max_pool", 1, 1}});
    }
    arguments.type = DType::float32;
  }
  arguments.indices = true;
  expect_within(arguments, {{"max_pool", 1, 1}, {"put_back", 1, 1}, {"max_unpool", 1, 1}});
  arguments.window = 3;  // some lanes read no dy, because the index is elsewhere
  expect_within(arguments, {{"max_pool", 1, 1}, {"put_back", 1, 1}, {"max_unpool", 1, 1.2}});
  arguments.work = ProfiledWork::batch_norm;
  arguments.rows = 3136;
  expect_within(arguments,
                {{"columns::column_sums", 1, 1.05}, {"statistics", 1, 1}, {"norm::row_map", 1, 1.5}});
  arguments.work = ProfiledWork::cross_entropy;
  arguments.rows = 256;
  expect_within(arguments, {{"row_per_thread", 1.2, 7.9}, {"sum_loss_stats", 1.2, 1.4}});
  arguments.work = ProfiledWork::all_reduce;
  arguments.bytes = 65536;
  expect_within(arguments, {{"detail::reduce", 1, 1}});
}

// Every kernel of a training step has a budget. Main loops have bank conflicts in tiles of 128 x 32 in fp32,
// and in copies of single elements of 16 bits. The bias gradients of 20, 50 and 10 columns have conflicts,
// too, which cost less than a launch. In 16 bits, LeNet's 20 and 50 channels need narrow accesses.
TEST_F(Profile, StepsAreWithinTheirBudget) {
  const std::vector<Budget> all = {{"add_loss_stats", 1, 1},
                                   {"advance", 1, 1},
                                   {"avg_pool", 1, 1.2},
                                   {"begin_step", 1, 1},
                                   {"columns::column_sums", 3.4, 1.3},
                                   {"conv2d_filter_gradient", 1.06, 2.1},
                                   {"conv2d_kernel", 1.09, 1.9},
                                   {"detail::elementwise", 1, 1},
                                   {"few_channels_filter", 1.2, 3.9},
                                   {"few_channels_forward", 1, 3.4},
                                   {"gemm_pipelined", 1.06, 2.3},
                                   {"norm::row_map", 1, 1.8},
                                   {"optimizer::update", 1, 1},
                                   {"parameter_gradients", 1, 1},
                                   {"row_per_thread", 1.2, 4},
                                   {"squared_error", 1, 2},
                                   {"statistics", 1, 1},
                                   {"sum_partials", 1, 3.4},
                                   {"winograd::transform_filter", 1, 2.1},
                                   {"winograd::winograd_filter_gradient", 1.01, 1.6},
                                   {"winograd::winograd_forward", 1.01, 1.1}};
  const std::vector<Budget> tensor = {{"conv2d_filter_gradient", 1, 2.1}, {"conv2d_wgmma", 1, 1.3},
                                      {"copy_transposed", 1, 1},          {"gemm_clusters", 1, 1.1},
                                      {"gemm_persistent", 1, 1.15},       {"gemm_pipelined", 1, 2.3}};
  const std::vector<Budget> narrow = {{"avg_pool", 1, 1.6},
                                      {"columns::column_sums", 4.6, 1.4},
                                      {"conv2d_filter_gradient", 1.4, 7.4},
                                      {"conv2d_kernel", 1.25, 3},
                                      {"conv2d_wgmma", 1, 1.6},
                                      {"detail::elementwise", 1, 1.7},
                                      {"few_channels_filter", 1.2, 9.8},
                                      {"few_channels_forward", 1, 5.9},
                                      {"filter_gradient_wgmma", 1, 1.3},
                                      {"gemm_pipelined", 1.26, 3.1},
                                      {"optimizer::update", 1, 2}};
  ProfileArguments arguments;
  arguments.work = ProfiledWork::train;
  arguments.batch = 32;
  for (const Precision precision : kPrecisions)
    for (const char* model : {"lenet", "resnet18", "mlp"}) {
      SCOPED_TRACE(concat(model, ", ", name_of(precision)));
      arguments.precision = precision;
      arguments.model = model;
      // The other layers would be like the second.
      arguments.layers = arguments.model == "mlp" ? std::optional<int64_t>(3) : std::nullopt;
      std::vector<Budget> budgets = all;
      if (precision != Precision::fp32) budgets.insert(budgets.end(), tensor.begin(), tensor.end());
      if (precision == Precision::bf16) budgets.insert(budgets.end(), narrow.begin(), narrow.end());
      expect_within(arguments, budgets);
    }
}

// Of columns whose sums are in the range of floats each value is read once, also where the profile leaves out
// the blocks that would have written it.
TEST_F(Profile, MomentsOfAStepReadEachValueOnce) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::train;
  arguments.model = "resnet18";
  arguments.batch = 32;
  const ProfileReport report = run_profile(arguments);
  int moments = 0;
  for (const ProfiledKernel& kernel : report.parts.at(0).kernels)
    if (kernel.name.starts_with("columns::column_sums") &&
        kernel.name.find("SumsAndSquares") != std::string::npos) {
      ++moments;
      EXPECT_EQ(kernel.forecast.totals.global_sectors, kernel.forecast.totals.least_global_sectors)
          << kernel.name;
    }
  EXPECT_GT(moments, 2);
}

TEST_F(Profile, StepOfLeNetNamesItsKernels) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::train;
  arguments.model = "lenet";
  arguments.batch = 64;
  const ProfileReport report = run_profile(arguments);
  ASSERT_EQ(report.parts.size(), 1u);
  EXPECT_GT(report.parts[0].kernels.size(), 20u);
  EXPECT_GT(report.parts[0].min_seconds(), 0);
  std::ostringstream text;
  show_profile_text(report, true, text);
  EXPECT_NE(text.str().find("few_channels_forward_kernel"), std::string::npos);
  EXPECT_NE(text.str().find("nothing here is measured"), std::string::npos);
  EXPECT_NE(profile_json(report).find("\"measured\": false"), std::string::npos);
  EXPECT_NE(profile_svg(report).find("</svg>"), std::string::npos);
}

// On an H100 the products of linear layers and convolutions are those of tensor cores, except in the first
// convolution, which has few channels.
TEST_F(Profile, StepsHaveTheProductsOfTheirPrecision) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::train;
  arguments.batch = 32;
  for (const Precision precision : kPrecisions)
    for (const char* model : {"lenet", "mlp"}) {
      SCOPED_TRACE(concat(model, ", ", name_of(precision)));
      arguments.model = model;
      arguments.layers = arguments.model == "mlp" ? std::optional<int64_t>(3) : std::nullopt;
      arguments.precision = precision;
      const ProfileReport report = run_profile(arguments);
      EXPECT_EQ(report.work.find(concat(", ", name_of(precision))) != std::string::npos,
                precision != Precision::fp32);
      uint64_t fp32 = 0, tf32 = 0, narrow = 0;
      for (const ProfiledKernel& kernel : report.parts.at(0).kernels) {
        if (!kernel.name.starts_with("few_channels")) fp32 += kernel.profile.multiply_adds;
        tf32 += kernel.profile.tf32_multiply_adds;
        narrow += kernel.profile.narrow_multiply_adds;
      }
      EXPECT_EQ(fp32 > 0, precision == Precision::fp32);
      EXPECT_EQ(tf32 > 0, precision == Precision::tf32 || precision == Precision::tf32x3);
      EXPECT_EQ(narrow > 0, precision == Precision::bf16);
    }
}

TEST_F(Profile, LayersOfAFixedModelAreRefused) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::train;
  arguments.model = "lenet";
  arguments.layers = 3;
  try {
    run_profile(arguments);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--layers is 3, which is for mlp: the layers of lenet are fixed");
  }
}

TEST_F(Profile, PoolingThatDoesNotFitIsRefused) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::pool;
  const auto refused = [&](const char* reason) {
    try {
      run_profile(arguments);
      FAIL() << reason;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), reason);
    }
  };
  arguments.pool_pad = 2;
  refused("pad is 2, must be at most 1 with windows of 2");
  arguments.pool_pad = 1;
  arguments.window = 31;
  refused("windows of 31 do not fit the padded image of 30 x 30");
  arguments.window = 2;
  arguments.indices = true;
  refused("--indices was given with --kind avg, which has none");
  arguments.dilation = 2;
  refused("--dilation is 2, must be 1 with --kind avg");
  arguments.pool = "max";
  arguments.pool_pad = 3;
  refused("pad is 3, must be at most 2 with windows of 2 and dilation 2");
  arguments.pool_pad = 1;
  arguments.dilation = 30;
  refused("windows of 2 and dilation 30 do not fit the padded image of 30 x 30");
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
