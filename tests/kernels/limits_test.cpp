// The limits of sizes, at their exact values: the largest that an operation takes, and one more. Where a call
// at the limit would need gigabytes, another of its arguments is invalid, and the message must be about that.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/layer_norm.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/softmax/softmax.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/invented_memory.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace rondo::test {
namespace {

constexpr int64_t k2To31 = int64_t{1} << 31;

class Limits : public testing::Test {
 protected:
  // `call` with one more than `largest` must be refused with a message that contains `limit`. With `largest`
  // it must be refused for another reason, `other`; or succeed, if `other` is empty.
  void expect(int64_t largest, const std::string& limit, const std::string& other,
              const std::function<Status(int64_t)>& call) {
    EXPECT_TRUE(refused(call(largest + 1), limit)) << largest + 1;
    if (other.empty())
      EXPECT_TRUE(ok(call(largest))) << largest;
    else
      EXPECT_TRUE(refused(call(largest), other)) << largest;
  }

  // Never accessed: all calls are refused, or have no elements.
  float* floats() { return memory_.data(); }
  static constexpr Workspace kNoWorkspace = {nullptr, -16};
  static constexpr const char* kOtherReason = "workspace.bytes is -16";
  const Stream stream_;

 private:
  GuardedBuffer<float> memory_{64};
};

TEST_F(Limits, ClassesOfCrossEntropy) {
  GuardedBuffer<LossStats> stats(1);
  GuardedBuffer<int32_t> labels(1);
  expect((k2To31 - 1) / 2, "logits.cols is 1073741824, must be in [1, 1073741823]", kOtherReason,
         [&](int64_t classes) {
           return softmax_cross_entropy({}, stats.data(), matrix<const float>(floats(), 1, classes),
                                        labels.view(), 1, kNoWorkspace, stream_);
         });
}

TEST_F(Limits, ClassesOfLossesWithOptions) {
  GuardedBuffer<float> loss(1);
  GuardedBuffer<int32_t> labels(1);
  expect((k2To31 - 1) / 2, "logits.cols is 1073741824, must be in [1, 1073741823]", kOtherReason,
         [&](int64_t classes) {
           return cross_entropy({}, loss.data(), {}, matrix<const float>(floats(), 1, classes), labels.view(),
                                {}, kNoWorkspace, stream_);
         });
  expect((k2To31 - 1) / 2, "logits.cols is 1073741824, must be at most 1073741823", kOtherReason,
         [&](int64_t cols) {
           return binary_cross_entropy({}, loss.data(), {}, matrix<const float>(floats(), 1, cols),
                                       matrix<const float>(floats(), 1, cols), {}, kNoWorkspace, stream_);
         });
}

TEST_F(Limits, ColumnsOfSoftmax) {
  expect((k2To31 - 1) / 2, "cols is 1073741824, must be at most 1073741823", kOtherReason, [&](int64_t cols) {
    const MatrixView<float> none = {nullptr, 0, cols, cols};
    const Status status = softmax(none, none, kNoWorkspace, stream_);
    EXPECT_EQ(softmax_backward(none, none, none, kNoWorkspace, stream_).code(), status.code());
    return status;
  });
}

TEST_F(Limits, ColumnsOfBiasGradient) {
  expect(65535 * 32, "dy.cols is 2097121, must be at most 2097120", kOtherReason, [&](int64_t cols) {
    return bias_gradient({floats(), cols}, matrix<const float>(nullptr, 0, cols), 0, kNoWorkspace, stream_);
  });
}

TEST_F(Limits, ChannelsOfBatchNorm) {
  constexpr int64_t kMost = 1 << 20;
  const char* const limit = "there are 1048577 channels, must be at most 1048576";
  const InventedMemory memory(64 * kMost * static_cast<int64_t>(sizeof(float)));
  const auto vector = [&](int number, int64_t size) {
    return VectorView<float>{memory.data<float>() + number * 4 * kMost, size};
  };
  const auto doubles = [&](int64_t channels) {
    return VectorView<double>{reinterpret_cast<double*>(memory.data<float>() + 40 * kMost), 2 * channels};
  };
  const auto none = [](int64_t channels) { return matrix<float>(nullptr, 0, channels); };
  const auto saved = [&](int64_t channels) {
    return BatchNormSaved{none(channels), vector(0, channels), vector(1, channels), {}};
  };
  expect(kMost, limit, kOtherReason, [&](int64_t channels) {
    return batch_norm_sums(doubles(channels), MatrixView<const float>(none(channels)), kNoWorkspace, stream_);
  });
  expect(kMost, limit, "count is 0", [&](int64_t channels) {
    return batch_norm_statistics(vector(0, channels), vector(1, channels), {}, doubles(channels), 0, 1e-5f,
                                 stream_);
  });
  expect(kMost, limit, "eps is 1", [&](int64_t channels) {
    return batch_norm_inv_std(vector(0, channels), vector(1, channels), 1, stream_);
  });
  expect(kMost, limit, "", [&](int64_t channels) {
    return batch_norm(none(channels), MatrixView<const float>(none(channels)), vector(0, channels),
                      vector(1, channels), vector(2, channels), vector(3, channels), {}, stream_);
  });
  expect(kMost, limit, kOtherReason, [&](int64_t channels) {
    return batch_norm_backward_sums(doubles(channels), {}, {}, MatrixView<const float>(none(channels)),
                                    saved(channels), kNoWorkspace, stream_);
  });
  expect(kMost, limit, "count is 0", [&](int64_t channels) {
    return batch_norm_backward(none(channels), {}, MatrixView<const float>(none(channels)), saved(channels),
                               vector(2, channels), doubles(channels), 0, stream_);
  });
}

TEST_F(Limits, ColumnsOfLayerNorm) {
  expect(1 << 20, "cols is 1048577, must be at most 1048576", "eps is 1", [&](int64_t cols) {
    const MatrixView<float> none = {nullptr, 0, cols, cols};
    const Status status = layer_norm(none, {}, {}, none, {}, {}, 1, {}, stream_);
    EXPECT_EQ(rms_norm(none, {}, none, {}, 1, {}, stream_).code(), status.code());
    return status;
  });
}

TEST_F(Limits, SizesOfGroupNorm) {
  const auto norm = [&](int64_t n, int64_t h, int64_t channels) {
    // Far from each other, and not accessed.
    auto* const x = reinterpret_cast<float*>(reinterpret_cast<char*>(floats()) + (int64_t{1} << 50));
    const ImageView<float> y = {floats(), n, h, 1, channels};
    return group_norm(y, {}, {}, {x, n, h, 1, channels}, {}, {}, 1, 1, {}, stream_);
  };
  expect(1 << 20, "there are 1048577 channels", "images times groups",
         [&](int64_t c) { return norm(1, 1, c); });
  expect((k2To31 - 1) / 2, "elements, must have at most 2147483647", "images times groups",
         [&](int64_t h) { return norm(1, h, 2); });
  expect((k2To31 - 1) / 2, "pixels, must have at most 2147483647", "images times groups",
         [&](int64_t n) { return norm(n, 2, 1); });
}

// With no images nothing is launched.
TEST_F(Limits, SidesOfPools) {
  struct Case {
    const char* name;
    int64_t ImageView<float>::*side;
    int64_t PoolWindow::*window;
  };
  const auto pool = [&](ImageView<float> x, const PoolWindow& window) {
    const ImageView<float> y = {nullptr, 0, pooled_height(x.height, window), pooled_width(x.width, window),
                                x.channels};
    const Status status = max_pool(y, ImageView<const float>(x), window, stream_);
    // The checks are those of all operations.
    const Status others[] = {
        max_pool_backward(x, ImageView<const float>(y), y, x, window, stream_),
        avg_pool(y, ImageView<const float>(x), window, AverageOver::image, stream_),
        avg_pool_backward(x, ImageView<const float>(y), window, AverageOver::image, stream_),
        avg_pool_relu_backward(x, ImageView<const float>(y), x, window, AverageOver::image, stream_)};
    for (const Status& other : others) EXPECT_EQ(other.code(), status.code()) << other.message();
    return status;
  };
  const char* const limit = "a side of image or window is 65536, must be at most 65535";
  expect(65535, limit, "", [&](int64_t rows) {  // rows of the pooled image
    return pool({nullptr, 0, 65535, 1, 1},
                {.height = 65535, .width = 1, .stride_h = 1, .pad_h = 1, .pad_bottom = rows - 2});
  });
  expect(65535, limit, "", [&](int64_t side) { return pool({nullptr, 0, side, 2, 1}, {}); });
  expect(65535, limit, "", [&](int64_t side) { return pool({nullptr, 0, 2, side, 1}, {}); });
  expect(65535, limit, "", [&](int64_t side) {
    return pool({nullptr, 0, 65535, 2, 1}, {.height = side, .width = 2, .pad_h = side / 2});
  });
  expect(65535, limit, "", [&](int64_t side) {
    return pool({nullptr, 0, 2, 65535, 1}, {.height = 2, .width = side, .pad_w = side / 2});
  });
  expect(65535, limit, "", [&](int64_t stride) {
    return pool({nullptr, 0, 2, 2, 1}, {.height = 2, .width = 2, .stride_h = stride});
  });
  expect(65535, limit, "", [&](int64_t stride) {
    return pool({nullptr, 0, 2, 2, 1}, {.height = 2, .width = 2, .stride_w = stride});
  });
  expect(65534, limit, "", [&](int64_t dilation) {  // of an extent of one more
    const PoolWindow window = {
        .height = 2, .width = 2, .stride_h = 2, .pad_h = 1, .pad_bottom = dilation, .dilation_h = dilation};
    return max_pool({nullptr, 0, pooled_height(65535, window), 1, 1},
                    ImageView<const float>{nullptr, 0, 65535, 2, 1}, window, stream_);
  });
  const char* const elements = "must have at most 2147483647 elements";
  expect((k2To31 - 1) / 4, elements, "", [&](int64_t channels) {
    return pool({nullptr, 0, 2, 2, channels}, {});
  });
  expect((k2To31 - 1) / 65535, elements, "",  // 32768 wide
         [&](int64_t width) {
           return pool({nullptr, 0, 65535, width, 1}, {});
         });
}

// 65535 blocks are beside each other along the images, which each take several turns with more of them.
TEST_F(Limits, ImagesOfPoolsBeyondTheGrid) {
  constexpr int64_t kImages = 65535 * 4 + 1, kSize = 4 * kImages;
  std::vector<float> x(static_cast<size_t>(kSize)), largest, mean, spread;
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 251);
  for (size_t i = 0; i < x.size(); i += 4) {
    largest.push_back(std::max({x[i], x[i + 1], x[i + 2], x[i + 3]}));
    mean.push_back((x[i] + x[i + 1] + x[i + 2] + x[i + 3]) / 4);
    spread.insert(spread.end(), 4, mean.back() / 4);
  }
  const GuardedBuffer<float> in(x);
  GuardedBuffer<float> y(kImages), dx(kSize);
  const ImageView<const float> of_x = {in.data(), kImages, 2, 2, 1};
  const ImageView<float> of_y = {y.data(), kImages, 1, 1, 1}, of_dx = {dx.data(), kImages, 2, 2, 1};
  ASSERT_TRUE(ok(max_pool(of_y, of_x, {}, stream_)));
  EXPECT_EQ(y.download(), largest);
  ASSERT_TRUE(ok(avg_pool(of_y, of_x, {}, AverageOver::image, stream_)));
  EXPECT_EQ(y.download(), mean);
  ASSERT_TRUE(ok(avg_pool_backward(of_dx, ImageView<const float>(of_y), {}, AverageOver::image, stream_)));
  EXPECT_EQ(dx.download(), spread);
}

TEST_F(Limits, SizesOfConvolutions) {
  struct Conv {
    int64_t h = 1, w = 1, c = 1, k = 1, r = 1, s = 1;
    Conv2dOptions options = {};
  };
  // No images, and so no elements of x and y. The filter has elements, and an address that is misaligned.
  const auto conv = [&](const Conv& c) {
    const ImageView<float> x = {nullptr, 0, c.h, c.w, c.c},
                           y = {nullptr, 0, conv2d_output_sides(c.h, c.w, c.r, c.s, c.options).height,
                                conv2d_output_sides(c.h, c.w, c.r, c.s, c.options).width, c.k};
    auto* const address = reinterpret_cast<float*>(reinterpret_cast<char*>(floats()) + 2);
    const FilterView<float> filter = {address, c.k, c.r, c.s, c.c / c.options.groups};
    const Status status = conv2d_forward(y, ImageView<const float>(x), FilterView<const float>(filter),
                                         c.options, {}, {}, stream_);
    const Status others[] = {
        conv2d_data_gradient(x, ImageView<const float>(y), FilterView<const float>(filter), c.options, {}, {},
                             stream_),
        conv2d_filter_gradient(filter, ImageView<const float>(y), ImageView<const float>(x), c.options, {},
                               {}, stream_)};
    for (const Status& other : others)
      EXPECT_EQ(other.message().find("misaligned") == std::string::npos,
                status.message().find("misaligned") == std::string::npos);
    // The size of the workspace is asked for first.
    const Conv2dWorkspaceBytes bytes =
        conv2d_workspace_bytes(ImageView<const float>(x), FilterView<const float>(filter), c.options);
    EXPECT_GE(bytes.forward, 0);
    EXPECT_GE(bytes.filter_gradient, 0);
    return status;
  };
  const char* const aligned = "must be aligned to 4 bytes";
  constexpr int64_t kMost = k2To31 - 1;
  expect(kMost, "height is 2147483648, must be from 0 to 2^31 - 1", aligned,
         [&](int64_t h) { return conv({.h = h}); });
  expect(kMost, "width is 2147483648, must be from 0 to 2^31 - 1", aligned,
         [&](int64_t w) { return conv({.w = w}); });
  expect(kMost, "channels is 2147483648, must be from 0 to 2^31 - 1", aligned,
         [&](int64_t c) { return conv({.c = c}); });
  expect(kMost, "channels is 2147483648, must be from 0 to 2^31 - 1", aligned,
         [&](int64_t k) { return conv({.k = k}); });
  expect(kMost, "stride_h is 2147483648, must be from 1 to 2^31 - 1", aligned,
         [&](int64_t stride) { return conv({.options = {.stride_h = stride}}); });
  expect(kMost, "stride_w is 2147483648, must be from 1 to 2^31 - 1", aligned,
         [&](int64_t stride) { return conv({.options = {.stride_w = stride}}); });
  expect(k2To31 / 4 - 1, "pad_h is 536870912, must be from 0 to 2^29 - 1", aligned,
         [&](int64_t pad) { return conv({.options = {.pad_h = pad}}); });
  expect(k2To31 / 4 - 1, "pad_w is 536870912, must be from 0 to 2^29 - 1", aligned,
         [&](int64_t pad) { return conv({.options = {.pad_w = pad}}); });
  expect(k2To31 / 4 - 1, "pad_bottom is 536870912, must be from 0 to 2^29 - 1", aligned,
         [&](int64_t pad) { return conv({.options = {.pad_bottom = pad}}); });
  expect(k2To31 / 4 - 1, "pad_right is 536870912, must be from 0 to 2^29 - 1", aligned,
         [&](int64_t pad) { return conv({.options = {.pad_right = pad}}); });
  // A filter of one tap has no distance of taps.
  expect(kMost, "dilation_h is 2147483648, must be from 1 to 2^31 - 1", aligned,
         [&](int64_t dilation) { return conv({.options = {.dilation_h = dilation}}); });
  expect(kMost, "dilation_w is 2147483648, must be from 1 to 2^31 - 1", aligned,
         [&](int64_t dilation) { return conv({.options = {.dilation_w = dilation}}); });
  expect(8, "covers 10 with dilation 9, must be at most the padded x, 9 + 2 * 0", aligned,
         [&](int64_t dilation) { return conv({.h = 9, .r = 2, .options = {.dilation_h = dilation}}); });
  // 2^31 - 1 is a prime: 2^31 - 2 = 2 * 1073741823 elements are the most of two sides.
  expect(k2To31 / 2 - 1, "values, must be below 2^31", aligned,
         [&](int64_t w) { return conv({.h = 2, .w = w}); });
  expect(k2To31 / 2 - 1, "values, must be below 2^31", aligned,
         [&](int64_t k) { return conv({.h = 2, .k = k, .r = 2}); });
}

TEST_F(Limits, SizeOfAnOrder) {
  // The epoch lies in the order, which is checked last.
  const auto* const epoch = reinterpret_cast<const int64_t*>(floats());
  expect(k2To31 - 1, "order.size is 2147483648, must be at most 2147483647", "order overlaps",
         [&](int64_t size) {
           return shuffle({reinterpret_cast<int32_t*>(floats()), size}, 1, epoch, stream_);
         });
}

TEST_F(Limits, FirstElementOfDropout) {
  const GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
  expect(int64_t{1} << 57, "random.first is 144115188075855873, must be from 0 to 2^57", "",
         [&](int64_t first) {
           return dropout(VectorView<float>{}, {}, 0.5f, {1, 2, step.data(), first}, stream_);
         });
}

// A workspace is never smaller than what the operation writes to it, also where its bytes exceed 64 bits.
TEST(WorkspaceBytes, AreEnoughForAnySize) {
  struct Case {
    const char* name;
    std::function<int64_t(int64_t, int64_t)> bytes;
    std::function<double(double, double)> least;
  };
  const auto products = [](bool transpose_a, bool transpose_b, Math math) {
    return [=](int64_t rows, int64_t cols) {
      return gemm_workspace_bytes({rows, cols, rows},
                                  {.transpose_a = transpose_a, .transpose_b = transpose_b, .math = math});
    };
  };
  // tf32 copies a transposed A and B that is not transposed; both, where all sides are as long.
  const auto copies = [](bool a, bool b) {
    return [=](double rows, double cols) { return 4 * rows * ((a ? rows : 0) + (b ? cols : 0)); };
  };
  const Case cases[] = {
      {"batch norm", batch_norm_workspace_bytes,
       [](double rows, double cols) { return rows > 512 ? rows / 512 * 2 * cols * 8 : 0; }},
      {"bias gradient", bias_gradient_workspace_bytes,
       [](double rows, double cols) { return rows > 512 ? rows / 512 * cols * 4 : 0; }},
      {"squared error", squared_error_workspace_bytes,
       [](double rows, double cols) { return rows * cols / 2048 * 8; }},
      {"cross-entropy", softmax_cross_entropy_workspace_bytes,
       [](double rows, double cols) {
         if (cols <= 64) return rows > 128 ? rows / 128 * sizeof(LossStats) : 0;
         return rows * (sizeof(LossStats) + (cols > 8192 ? std::ceil(cols / 8192) * 20 + 24 : 0));
       }},
      {"softmax", softmax_workspace_bytes,
       [](double rows, double cols) { return cols > 8192 ? rows * (std::ceil(cols / 8192) * 8 + 12) : 0; }},
      {"cross-entropy with options", cross_entropy_workspace_bytes,
       [](double rows, double cols) {
         return rows * (cols > 8192 ? std::ceil(cols / 8192) * 24 + 32 : 0) + rows * 4 + 16;
       }},
      {"layer norm", layer_norm_workspace_bytes,
       [](double rows, double cols) { return cols > 8192 ? rows * (std::ceil(cols / 8192) * 8 + 8) : 0; }},
      {"layer norm, backward", layer_norm_backward_workspace_bytes,
       [](double rows, double cols) {
         const double of_rows = cols > 8192 ? rows * (std::ceil(cols / 8192) * 8 + 12) : 0;
         return std::max(of_rows, ((rows > 512 ? rows / 512 : 0) + 1) * 2 * cols * 8);
       }},
      {"product, copies A", products(true, true, Math::tf32), copies(true, false)},
      {"product, copies B", products(false, false, Math::tf32x3), copies(false, true)},
      {"product, copies both", products(true, false, Math::tf32), copies(true, true)},
  };
  const bool copied =
      gemm_workspace_bytes({1 << 20, 1 << 20, 1 << 20}, {.transpose_a = true, .math = Math::tf32}) > 0;
  ASSERT_TRUE(copied);
  for (const Case& c : cases)
    for (int rows = 14; rows < 63; ++rows)
      for (int cols = 14; cols < 63; ++cols)
        for (const int64_t more : {0, 1}) {
          const int64_t m = (int64_t{1} << rows) + more, n = (int64_t{1} << cols) + more;
          const double least = c.least(static_cast<double>(m), static_cast<double>(n));
          const int64_t bytes = c.bytes(m, n);
          ASSERT_TRUE(bytes == INT64_MAX || static_cast<double>(bytes) >= least * (1 - 1e-12))
              << c.name << " of " << m << " x " << n << ": " << bytes << " bytes instead of " << least;
          if (least < 0x1p55) {
            ASSERT_LE(static_cast<double>(bytes), 2 * least + 65536 * 8)
                << c.name << " of " << m << " x " << n;
          }
        }
}

}  // namespace
}  // namespace rondo::test
