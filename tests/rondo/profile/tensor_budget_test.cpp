// Budgets in a build that observes kernels: no bank conflict in the kernels of wgmma, of tf32x3 and of
// convolutions by tensor cores, and accesses of 16 bytes in the other operators of 16-bit types.
#include <gtest/gtest.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/softmax/softmax.h>
#include <rondo/tools/rondo/profile/profile.h>

#include <simt/observe.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace rondo::program {
namespace {

class TensorBudget : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
  }
};

ProfileArguments tensor_gemm_arguments(int64_t size, const std::string& variant, DType type, Math math) {
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
              tensor_gemm_arguments(128, rung, type, type == DType::float32 ? Math::tf32 : Math::fp32);
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
  struct Counters {
    double requests, sectors, wavefronts, barriers;
  };
  struct Row {
    const char* rung;
    Counters narrow, tf32;
  };
  constexpr Counters kTwoTiles = {0.15625, 16, 0.375, 2}, kTwoTilesOfTf32 = {0.21875, 11.43, 0.375, 2};
  for (const Row& row : {Row{"tc_05_wgmma", {0.625, 9.6, 0.5, 12}, {0.375, 10.67, 0.5, 20}},
                         Row{"tc_06_warp_specialized", kTwoTiles, kTwoTilesOfTf32},
                         Row{"tc_07_persistent", kTwoTiles, kTwoTilesOfTf32},
                         Row{"tc_08_clusters", {0.125, 16, 0.375, 2}, {0.1875, 10.67, 0.375, 2}},
                         Row{"tc_09_stream_k", kTwoTiles, kTwoTilesOfTf32}})
    for (const DType type : {DType::bfloat16, DType::float16, DType::float32}) {
      SCOPED_TRACE(concat(row.rung, ", ", name_of(type)));
      const bool tf32 = type == DType::float32;
      const Counters& want = tf32 ? row.tf32 : row.narrow;
      ProfileArguments arguments = tensor_gemm_arguments(256, row.rung, type, tf32 ? Math::tf32 : Math::fp32);
      arguments.k = 128;
      arguments.transpose_b = tf32;
      const ProfileReport report = run_profile(arguments);
      const KernelTotals& totals = report.parts.front().kernels.front().forecast.totals;
      const double products = 256 * 256 * 128 / (16 * 8 * (tf32 ? 8 : 16));
      EXPECT_EQ(totals.global_requests / products, want.requests);
      EXPECT_NEAR(totals.global_sectors / totals.global_requests, want.sectors, 0.005);
      EXPECT_EQ(totals.shared_wavefronts / products, want.wavefronts);
      EXPECT_EQ(totals.barriers, want.barriers);
    }
}

TEST_F(TensorBudget, Tf32x3) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      SCOPED_TRACE(concat("transposed ", transpose_a, transpose_b));
      ProfileArguments arguments =
          tensor_gemm_arguments(128, "tc_04_pipelined", DType::float32, Math::tf32x3);
      arguments.transpose_a = transpose_a, arguments.transpose_b = transpose_b;
      const ProfileReport report = run_profile(arguments);
      expect_no_conflicts(report.parts.front().kernels.front());
    }
  // Large enough for wgmma.
  ProfileArguments arguments = tensor_gemm_arguments(1100, "gemm", DType::float32, Math::tf32x3);
  arguments.k = 64;
  arguments.transpose_b = true;
  arguments.blocks = 4;
  const ProfileReport report = run_profile(arguments);
  const ProfiledKernel& kernel = report.parts.front().kernels.front();
  EXPECT_NE(kernel.name.find("persistent_tf32x3"), std::string::npos) << kernel.name;
  expect_no_conflicts(kernel);
}

ProfileReport profile_of_conv(DType type, Math math, int64_t images, int64_t channels = 64) {
  ProfileArguments arguments;
  arguments.channels = arguments.filters = channels;
  arguments.work = ProfiledWork::conv;
  arguments.type = type;
  arguments.math = math;
  arguments.images = images;
  return run_profile(arguments);
}
// The parts that wgmma computes; none has a bank conflict.
std::string parts_by_wgmma(const ProfileReport& report) {
  std::string by_wgmma;
  for (const ProfiledPart& part : report.parts)
    for (const ProfiledKernel& kernel : part.kernels) {
      expect_no_conflicts(kernel);
      if (kernel.name.find("wgmma") != std::string::npos) by_wgmma += concat(part.name, " ");
    }
  return by_wgmma;
}

// Forward and data gradient by wgmma, the filter gradient by mma.sync.
TEST_F(TensorBudget, Tf32Convolutions) {
  EXPECT_EQ(parts_by_wgmma(profile_of_conv(DType::float32, Math::tf32, 32)), "forward data_gradient ");
}
// A layer with tiles of 128 x 128; observes a few blocks. kernels/conv/README.md has the time of y.
TEST_F(TensorBudget, Tf32x3ConvolutionsByWgmma) {
  ProfileArguments arguments;
  arguments.work = ProfiledWork::conv;
  arguments.math = Math::tf32x3;
  arguments.images = 64;
  arguments.height = arguments.width = 14;
  arguments.channels = arguments.filters = 128;
  arguments.blocks = 4;
  for (const char* pass : {"forward", "data_gradient"}) {
    arguments.pass = pass;
    const ProfileReport report = run_profile(arguments);
    EXPECT_EQ(parts_by_wgmma(report), concat(pass, " "));
    const double launch_of_copy = arguments.pass == "forward" ? 0 : 1.4;  // of the transposed filter
    EXPECT_NEAR(1e6 * report.parts.front().min_seconds(), 30.2 + launch_of_copy, 0.06);
  }
}

TEST_F(TensorBudget, Float16Convolutions) {
  EXPECT_EQ(parts_by_wgmma(profile_of_conv(DType::float16, Math::fp32, 32)),
            "forward data_gradient filter_gradient ");
}

// With few channels, which wgmma would pad, all parts are by mma.sync.
TEST_F(TensorBudget, Tf32x3Convolutions) {
  int products = 0;
  for (const ProfiledPart& part : profile_of_conv(DType::float32, Math::tf32x3, 1, 8).parts)
    for (const ProfiledKernel& kernel : part.kernels) {
      EXPECT_LE(kernel.forecast.totals.shared_wavefronts,
                1.003 * kernel.forecast.totals.least_shared_wavefronts)
          << kernel.name;
      products += kernel.name.find("(Arithmetic)2") != std::string::npos;
    }
  EXPECT_EQ(products, 3);
}

// The bytes that the global accesses of some kernels ask for: those of 16 bytes, and the others by width.
struct AccessWidths {
  uint64_t wide = 0;
  std::map<int, uint64_t> narrow;
};
AccessWidths widths_of(const std::function<Status()>& run) {
  AccessWidths widths;
  EXPECT_EQ(simt::start_profile(), cudaSuccess);
  const Status status = run();
  const std::vector<simt::KernelProfile> profiles = simt::stop_profile();
  EXPECT_TRUE(status.ok()) << status.message();
  for (const simt::KernelProfile& profile : profiles)
    for (const simt::AccessCounts& access : profile.accesses)
      if (access.space == simt::AccessSpace::global && access.requests > 0)
        (access.bytes == 16 ? widths.wide : widths.narrow[access.bytes]) += access.bytes_requested();
  return widths;
}

// An operator on 16-bit data whose alignment allows 16 bytes an access.
struct NarrowOperator {
  const char* name;
  std::function<Status()> run;
  int64_t wide;                         // bytes of the accesses of 16 bytes, at least
  std::map<int, uint64_t> narrow = {};  // of the others, by their width, at most
};
template <class T>
void expect_widths(std::initializer_list<NarrowOperator> operators) {
  for (const NarrowOperator& op : operators) {
    SCOPED_TRACE(concat(op.name, ", ", name_of(dtype_of<T>)));
    const AccessWidths widths = widths_of(op.run);
    EXPECT_GE(widths.wide, static_cast<uint64_t>(op.wide));
    for (const auto& [width, bytes] : widths.narrow) {
      const auto most = op.narrow.find(width);
      EXPECT_LE(bytes, most == op.narrow.end() ? 0 : most->second) << "accesses of " << width << " bytes";
    }
  }
}

template <class T>
Buffer<T> zeros(int64_t size) {
  Buffer<T> buffer(size);
  buffer.fill_bytes(0);
  return buffer;
}

// Operators on arrays without a shape. Each thread reads the scalars of a step: its number, the learning
// rate, or the state of Adam.
template <class T>
void expect_wide_elementwise() {
  constexpr int64_t kSize = 5000;  // a tail of 8 elements behind whole blocks of a warp
  constexpr int64_t kBytes = kSize * static_cast<int64_t>(sizeof(T));
  constexpr uint64_t kSlots = kSize / 8;  // of 16 bytes
  constexpr uint64_t kThreads = 256;      // of the optimizers, 4 slots each
  const Buffer<T> a = zeros<T>(kSize), b = zeros<T>(kSize);
  Buffer<T> y = zeros<T>(kSize);
  Buffer<float> floats = zeros<float>(kSize), first = zeros<float>(kSize), second = zeros<float>(kSize);
  const Buffer<float> rate = zeros<float>(1);
  const Buffer<int64_t> step = zeros<int64_t>(1);
  const Buffer<AdamState> state = zeros<AdamState>(1);
  Buffer<unsigned long long> found(1);
  Buffer<float> workspace = zeros<float>(squared_error_workspace_bytes(1, kSize) / 4);
  Buffer<LossStats> stats = zeros<LossStats>(1);
  const VectorView<const T> from = {a.data(), kSize}, other = {b.data(), kSize};
  const VectorView<T> to = {y.data(), kSize};
  const VectorView<float> p = {floats.data(), kSize}, v = {first.data(), kSize}, w = {second.data(), kSize};
  const Stream stream;
  expect_widths<T>(
      {{"relu", [&] { return relu(to, from, stream); }, 2 * kBytes},
       {"relu_backward", [&] { return relu_backward(to, from, other, stream); }, 3 * kBytes},
       {"add", [&] { return add(to, from, other, true, stream); }, 3 * kBytes},
       {"dropout",
        [&] { return dropout(to, from, 0.25f, {.seed = 1, .step = step.data()}, stream); },
        2 * kBytes,
        {{8, 8 * kSlots}}},
       {"cast to",
        [&] {
          return cast(to, VectorView<const float>{floats.data(), kSize}, stream);
        },
        3 * kBytes},
       {"cast from", [&] { return cast(p, from, stream); }, 3 * kBytes},
       {"first_nonfinite",
        [&] {
          return first_nonfinite({found.data(), 1}, from, false, stream);
        },
        kBytes},
       {"squared_error",
        [&] {
          return squared_error<const T>({y.data(), 1, kSize, kSize}, stats.data(),
                                        {a.data(), 1, kSize, kSize}, {floats.data(), 1, kSize, kSize}, 1,
                                        {workspace.data(), workspace.bytes()}, stream);
        },
        4 * kBytes,
        {{8, 80}}},  // the partial sums, and the statistics
       {"sgd_update, no velocity",
        [&] { return sgd_update(p, to, {}, from, rate.data(), SgdOptions{}, stream); },
        6 * kBytes,
        {{4, 4 * kThreads}}},
       {"sgd_update",
        [&] { return sgd_update(p, to, v, from, rate.data(), SgdOptions{.momentum = 0.5f}, stream); },
        10 * kBytes,
        {{4, 4 * kThreads}}},
       {"adam_update",
        [&] { return adam_update(p, to, v, w, from, state.data(), AdamOptions{}, stream); },
        14 * kBytes,
        {{4, 12 * kThreads}}}});
}

template <class T>
void expect_wide_pooling() {
  constexpr int64_t kImages = 2, kSide = 9, kChannels = 24;
  for (const PoolWindow& window : {PoolWindow{2, 2, 2, 2, 0, 0}, PoolWindow{3, 3, 2, 2, 1, 1}}) {
    SCOPED_TRACE(concat("windows of ", window.height));
    const int64_t side = pooled_size(kSide, window.height, window.stride_h, window.pad_h);
    const int64_t size = kImages * kSide * kSide * kChannels, pooled = kImages * side * side * kChannels;
    const int64_t x_bytes = size * 2, y_bytes = pooled * 2;
    const Buffer<T> x_data = zeros<T>(size);
    Buffer<T> dx_data = zeros<T>(size), y_data = zeros<T>(pooled);
    const ImageView<const T> x = {x_data.data(), kImages, kSide, kSide, kChannels};
    const ImageView<T> dx = {dx_data.data(), kImages, kSide, kSide, kChannels},
                       y = {y_data.data(), kImages, side, side, kChannels};
    const Stream stream;
    expect_widths<T>(
        {{"avg_pool", [&] { return avg_pool(y, x, window, AverageOver::image, stream); }, 5 * y_bytes},
         {"avg_pool_backward", [&] { return avg_pool_backward(dx, y, window, AverageOver::image, stream); },
          x_bytes + y_bytes},
         {"avg_pool_relu_backward",
          [&] { return avg_pool_relu_backward(dx, y, x, window, AverageOver::image, stream); },
          2 * x_bytes + y_bytes},
         {"max_pool", [&] { return max_pool(y, x, window, stream); }, 5 * y_bytes},
         {"max_pool_backward", [&] { return max_pool_backward(dx, y, y, x, window, stream); },
          x_bytes + y_bytes}});
  }
}

// Operators on the rows of a matrix. They access these operands by their elements:
// - partial sums of columns, which are a few rows;
// - labels, the logit of a label, and statistics of the loss, once per row or thread;
// - in gather_batch the bytes of the data set, 8 for each 16 bytes of the batch.
template <class T>
void expect_wide_rows() {
  constexpr int64_t kRows = 600, kCols = 48, kSize = kRows * kCols, kBytes = 2 * kSize;
  const Buffer<T> x_data = zeros<T>(kSize);
  Buffer<T> y_data = zeros<T>(kSize), r_data = zeros<T>(kSize);
  Buffer<float> column = zeros<float>(kCols), db = zeros<float>(kCols);
  Buffer<double> sum_data = zeros<double>(2 * kCols);
  Buffer<float> space = zeros<float>(1 << 16);
  const Buffer<int32_t> labels = zeros<int32_t>(kRows);
  Buffer<int32_t> new_labels = zeros<int32_t>(kRows);
  Buffer<LossStats> stats = zeros<LossStats>(1);
  const Buffer<uint8_t> images = zeros<uint8_t>(kSize), image_labels = zeros<uint8_t>(kRows);
  const Buffer<int64_t> step = zeros<int64_t>(1);
  const MatrixView<const T> x = {x_data.data(), kRows, kCols, kCols};
  const MatrixView<T> y = {y_data.data(), kRows, kCols, kCols}, r = {r_data.data(), kRows, kCols, kCols};
  const VectorView<const float> of_column = {column.data(), kCols};
  const VectorView<double> sums = {sum_data.data(), 2 * kCols};
  const BatchNormSavedOf<T> saved = {x, of_column, of_column, y};
  const Workspace workspace = {space.data(), space.bytes()};
  const Stream stream;
  constexpr uint64_t kParts = 2 * 2 * 2 * kCols + 2 * kCols;  // 2 blocks of rows: written, read, and the sums
  constexpr uint64_t kMapThreads = 576, kMapColumns = 8;      // of row_map(), with work
  constexpr uint64_t kSumThreads = 2 * 16 * kCols / 8;        // of 2 blocks of 16 rows
  constexpr uint64_t kLongRows = kRows / 10, kWarp = 32, kBlockThreads = 128;
  expect_widths<T>(
      {{"batch_norm_sums",
        [&] { return batch_norm_sums(sums, x, workspace, stream); },
        kBytes,
        {{8, 8 * kParts}}},
       {"batch_norm",
        [&] {
          return batch_norm(y, x, of_column, of_column, of_column, of_column,
                            BatchNormEpilogueOf<T>{.residual = r, .relu = true}, stream);
        },
        3 * kBytes + 4 * 4 * kMapColumns * kMapThreads,
        {}},
       {"batch_norm_backward_sums",
        [&] { return batch_norm_backward_sums(sums, {}, {}, r, saved, workspace, stream); },
        3 * kBytes + 2 * 4 * kMapColumns * kSumThreads,
        {{8, 8 * kParts}}},
       {"batch_norm_backward",
        [&] { return batch_norm_backward(r, {}, r, saved, of_column, sums, kRows, stream); },
        4 * kBytes + (3 * 4 + 2 * 8) * kMapColumns * kMapThreads,
        {}},
       {"bias_gradient",
        [&] {
          return bias_gradient({db.data(), kCols}, x, 0, workspace, stream);
        },
        kBytes,
        {{4, 4 * kParts / 2}}},
       {"softmax_cross_entropy, a thread a row",
        [&] {
          return softmax_cross_entropy(y, stats.data(), x, {labels.data(), kRows}, 1, workspace, stream);
        },
        4 * kBytes,
        {{2, 2 * 2 * kRows}, {4, 4 * kRows + 160}, {8, 224}}},
       {"softmax_cross_entropy, a warp a row",
        [&] {
          return softmax_cross_entropy<const T>({y.data, kRows / 10, 10 * kCols, 10 * kCols}, stats.data(),
                                                {x.data, kRows / 10, 10 * kCols, 10 * kCols},
                                                {labels.data(), kRows / 10}, 1, workspace, stream);
        },
        2 * kBytes,
        {{2, 2 * kLongRows * kWarp}, {4, 2 * 4 * kLongRows * kWarp}, {8, 2 * 32 * kLongRows + 64}}},
       {"softmax, 4 lanes a row", [&] { return softmax(y, x, {}, stream); }, 2 * kBytes, {}},
       {"softmax, a warp a row",
        [&] {
          return softmax(MatrixView<T>{y.data, kRows / 10, 10 * kCols, 10 * kCols},
                         {x.data, kRows / 10, 10 * kCols, 10 * kCols}, {}, stream);
        },
        2 * kBytes,
        {}},
       {"log_softmax, a block a row",
        [&] {
          return log_softmax(MatrixView<T>{y.data, kRows / 100, 100 * kCols, 100 * kCols},
                             {x.data, kRows / 100, 100 * kCols, 100 * kCols}, {}, stream);
        },
        2 * kBytes,
        {}},
       {"softmax_backward", [&] { return softmax_backward(y, r, x, {}, stream); }, 3 * kBytes, {}},
       {"gather_batch",
        [&] {
          return gather_batch(ImageView<T>{y.data, kRows, 4, 4, 3}, {new_labels.data(), kRows},
                              {images.data(), kRows, 4, 4, 3}, {image_labels.data(), kRows}, {},
                              {step.data(), kRows, 0}, 1, 0, stream);
        },
        kBytes,
        {{1, kRows}, {4, 4 * kRows}, {8, kSize + 8 * kRows * kBlockThreads}}}});
}

TEST_F(TensorBudget, ElementwiseOperatorsOf16BitsHold16BytesAnAccess) {
  expect_wide_elementwise<__nv_bfloat16>();
  expect_wide_elementwise<__half>();
}

TEST_F(TensorBudget, PoolingOf16BitsHolds16BytesAnAccess) {
  expect_wide_pooling<__nv_bfloat16>();
  expect_wide_pooling<__half>();
}

TEST_F(TensorBudget, OperatorsOnRowsOf16BitsHold16BytesAnAccess) {
  expect_wide_rows<__nv_bfloat16>();
  expect_wide_rows<__half>();
}

}  // namespace
}  // namespace rondo::program
