// The kernels that convolutions choose. These are pure functions, so no device is needed.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/kernels/conv/workspace_bound.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/kernels/reference/gpus.h>
#include <rondo/tests/support/expected_file.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace rondo::test {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

// Appends `value` to that of the line with the key, or a line.
void add(Lines* lines, const std::string& key, const std::string& value) {
  const auto found = std::ranges::find(*lines, key, &Lines::value_type::first);
  if (found == lines->end())
    lines->emplace_back(key, value);
  else
    found->second += " " + value;
}

constexpr int least_capability_of(Arithmetic arithmetic) {
  const bool of_floats = factor_type(arithmetic) == DType::float32;
  return least_capability(factor_type(arithmetic),
                          of_floats && uses_tensor_cores(arithmetic) ? Math::tf32 : Math::fp32);
}

ConvProblem problem_of(ConvOperation operation, const ConvCase& c, Arithmetic arithmetic) {
  return {operation, geometry_of(c), arithmetic, c.options.algorithm};
}

// The plans of the GPUs that have the arithmetic: "plan: GPUs".
std::vector<std::string> plans_of(ConvOperation operation, const ConvCase& c, Arithmetic arithmetic) {
  Lines gpus_of;
  for (const Gpu& gpu : all_gpus()) {
    if (gpu.capability < least_capability_of(arithmetic)) continue;
    std::ostringstream plan;
    plan << choose_conv_plan(problem_of(operation, c, arithmetic), gpu.device);
    add(&gpus_of, plan.str(), gpu.name);
  }
  std::vector<std::string> plans;
  for (const auto& [plan, gpus] : gpus_of)
    plans.push_back(plan + ": " + (gpus_of.size() == 1 ? "all" : gpus));
  return plans;
}

// Every choice, for every GPU of gpus.h, as text: a change of a choice changes a line of conv_plans.txt.
// "all" are the GPUs that have the arithmetic.
TEST(ConvPlan, Table) {
  struct Layer {
    const char* name;
    int64_t size, c, k, filter, stride, pad;
  };
  // As nn/models/models.cpp has them, for images of 28 x 28.
  constexpr Layer kLayers[] = {
      {"LeNet", 28, 1, 20, 3, 1, 0},        {"LeNet", 13, 20, 50, 5, 1, 0},
      {"ResNet-18", 28, 1, 64, 3, 1, 1},    {"ResNet-18", 28, 64, 64, 3, 1, 1},
      {"ResNet-18", 28, 64, 128, 3, 2, 1},  {"ResNet-18", 28, 64, 128, 1, 2, 0},
      {"ResNet-18", 14, 128, 128, 3, 1, 1}, {"ResNet-18", 14, 128, 256, 3, 2, 1},
      {"ResNet-18", 14, 128, 256, 1, 2, 0}, {"ResNet-18", 7, 256, 256, 3, 1, 1},
      {"ResNet-18", 7, 256, 512, 3, 2, 1},  {"ResNet-18", 7, 256, 512, 1, 2, 0},
      {"ResNet-18", 4, 512, 512, 3, 1, 1},
  };
  std::ostringstream table;
  for (const Layer& layer : kLayers)
    for (const int64_t images : {256, 8})
      for (const auto& [operation, name] :
           {std::pair(ConvOperation::forward, "y"), std::pair(ConvOperation::data_gradient, "dx"),
            std::pair(ConvOperation::filter_gradient, "dw")}) {
        if (layer.c == 1 && operation == ConvOperation::data_gradient) continue;  // no training needs it
        const ConvCase c = {
            images,  layer.size,   layer.size,   layer.c,
            layer.k, layer.filter, layer.filter, {layer.stride, layer.stride, layer.pad, layer.pad}};
        table << layer.name << ", " << layer.size << " x " << layer.size << " x " << layer.c << " to "
              << layer.k << ", filter " << layer.filter << ", stride " << layer.stride << ", " << images
              << " images, " << name << "\n";
        Lines types_of;
        for (const Arithmetic arithmetic : kArithmetics)
          for (const std::string& plan : plans_of(operation, c, arithmetic))
            add(&types_of, plan, name_of(arithmetic));
        for (const auto& [plan, types] : types_of) table << "  " << types << ": " << plan << "\n";
      }
  EXPECT_TRUE(equals_file(table.str(), RONDO_CONV_PLANS));
}

// The parts, and so the workspace, are the same on every device.
TEST(ConvPlan, ThePartsDoNotDependOnTheDevice) {
  const ConvCase cases[] = {{8, 4, 4, 512, 512, 3, 3, {.pad_h = 1, .pad_w = 1}},
                            {8, 28, 28, 1, 20, 3, 3},
                            {8, 7, 7, 256, 512, 1, 1, {.stride_h = 2, .stride_w = 2}}};
  for (const ConvCase& c : cases)
    for (const ConvOperation operation :
         {ConvOperation::forward, ConvOperation::data_gradient, ConvOperation::filter_gradient})
      for (const Arithmetic arithmetic : kArithmetics) {
        const ConvProblem problem = problem_of(operation, c, arithmetic);
        for (const Gpu& gpu : all_gpus())
          EXPECT_EQ(choose_conv_plan(problem, gpu.device).splits, conv_parts(problem)) << gpu.name;
      }
}

// The workspace and the second pass grow with the parts, so their number has a limit.
TEST(ConvPlan, AFilterGradientHasAtMost128Parts) {
  const auto parts = [](const ConvCase& c) {
    return conv_parts(problem_of(ConvOperation::filter_gradient, c, Arithmetic::fp32));
  };
  // Three chunks of 8 channels: a block of 128 threads has 42 rows of threads, and each has two rows of y.
  const auto few_channels = [&](int64_t images, int64_t rows) {
    return parts({images, rows + 2, 28, 1, 20, 3, 3});
  };
  EXPECT_EQ(few_channels(1, 84), 1);
  EXPECT_EQ(few_channels(1, 85), 2);
  EXPECT_EQ(few_channels(127, 84), 127);
  EXPECT_EQ(few_channels(128, 84), 128);
  EXPECT_EQ(few_channels(129, 84), 128);
  EXPECT_EQ(few_channels(60'000, 84), 128);
  // By Winograd: tiles of 2 x 2 pixels, at least 384 in a part; 128 blocks of 64 x 64 filters in all.
  const auto winograd = [&](int64_t images, int64_t channels) {
    return parts({images, 32, 24, channels, channels, 3, 3, {.pad_h = 1, .pad_w = 1}});
  };
  EXPECT_EQ(winograd(2, 64), 1);
  EXPECT_EQ(winograd(4, 64), 2);
  EXPECT_EQ(winograd(256, 64), 128);
  EXPECT_EQ(winograd(258, 64), 128);
  EXPECT_EQ(winograd(60'000, 64), 128);
  EXPECT_EQ(winograd(60'000, 256), 8);
  EXPECT_EQ(winograd(60'000, 1024), 1);
  // As a product with a sum over the pixels: 128 tiles of 128 x 64 in all.
  const auto product = [&](int64_t images, int64_t channels) {
    return parts({images, 16, 16, channels, channels, 1, 1});
  };
  EXPECT_EQ(product(1, 64), 1);
  EXPECT_EQ(product(2, 64), 2);
  EXPECT_EQ(product(128, 64), 128);
  EXPECT_EQ(product(60'000, 64), 128);
  EXPECT_EQ(product(60'000, 256), 16);
}

TEST(ConvPlan, TheMethodDependsOnShapeAndOptions) {
  const auto method = [](ConvOperation operation, ConvCase c, ConvAlgorithm algorithm, Math math = Math::fp32,
                         DType type = DType::float32) {
    c.options.algorithm = algorithm;
    return choose_conv_method(problem_of(operation, c, arithmetic_of(type, math)));
  };
  using enum ConvOperation;
  using enum ConvAlgorithm;
  const ConvCase square = {8, 28, 28, 64, 64, 3, 3, {.pad_h = 1, .pad_w = 1}},
                 first = {8, 28, 28, 1, 20, 3, 3};
  for (const ConvOperation operation : {forward, data_gradient, filter_gradient}) {
    EXPECT_EQ(method(operation, square, automatic), ConvMethod::winograd);
    EXPECT_EQ(method(operation, square, direct), ConvMethod::implicit_gemm);
    EXPECT_EQ(method(operation, square, automatic, Math::tf32), ConvMethod::implicit_gemm);
    EXPECT_EQ(method(operation, square, automatic, Math::tf32x3), ConvMethod::implicit_gemm);
    EXPECT_EQ(method(operation, square, automatic, Math::fp32, DType::float16), ConvMethod::implicit_gemm);
    for (const Math math : kMathModes)
      EXPECT_EQ(method(operation, first, automatic, math),
                operation == data_gradient ? ConvMethod::implicit_gemm : ConvMethod::few_channels);
  }
  // Channels that Winograd's algorithm takes, but that do not pay for its transforms.
  const ConvCase narrow = {8, 28, 28, 16, 16, 3, 3};
  EXPECT_EQ(method(forward, narrow, automatic), ConvMethod::implicit_gemm);
  EXPECT_EQ(method(forward, narrow, winograd), ConvMethod::winograd);
  // y and dx of no images are empty; dw is zero.
  ConvCase none = square;
  none.n = 0;
  EXPECT_EQ(method(forward, none, automatic), ConvMethod::implicit_gemm);
  EXPECT_EQ(method(data_gradient, none, automatic), ConvMethod::implicit_gemm);
  EXPECT_EQ(method(filter_gradient, none, automatic), ConvMethod::winograd);
}

// Images that do not fill the boxes of the wgmma kernel have sums of more rows than pixels.
TEST(ConvWorkspace, HasRoomForTheSumsOfBoxes) {
  int64_t more = 0;
  for (const int64_t side : {5, 7, 9, 14, 20}) {
    const ConvCase c = {
        .n = 3, .h = side, .w = side, .c = 64, .k = 64, .r = 3, .s = 3, .options = {.pad_h = 1, .pad_w = 1}};
    const ConvGeometry g = geometry_of(c);
    const int64_t parts = most_moment_parts(g, Arithmetic::bf16);
    if (parts == 0) continue;  // the kernel that splits the sums computes none
    const WgmmaConvPixels pixels = choose_wgmma_conv_pixels(ConvOperation::forward, g);
    EXPECT_GE(parts, wgmma_moment_parts(g, pixels)) << side;
    more += wgmma_moment_parts(g, pixels) > (g.output_pixels + kMomentRows - 1) / kMomentRows;
  }
  EXPECT_GT(more, 0) << "no shape shows the difference";
}

// The workspace that is bounded for many images is enough for fewer of them.
TEST(ConvWorkspace, TheBoundIsEnoughForFewerImages) {
  constexpr int64_t kMost = 200;
  struct Layer {
    int64_t side, in, out;
  };
  for (const Layer& layer : {Layer{4, 512, 512}, Layer{8, 64, 128}, Layer{28, 1, 20}})
    for (const auto& [type, math] :
         {std::pair(DType::float32, Math::fp32), std::pair(DType::float32, Math::tf32),
          std::pair(DType::float32, Math::tf32x3), std::pair(DType::bfloat16, Math::fp32)}) {
      Conv2dOptions options;
      options.pad_h = options.pad_w = 1;
      options.math = math;
      const FilterView<const float> filter = {nullptr, layer.out, 3, 3, layer.in};
      const auto images = [&](int64_t count) {
        return ImageView<const float>{nullptr, count, layer.side, layer.side, layer.in};
      };
      const Conv2dWorkspaceBytes bound = conv2d_workspace_bound(images(kMost), filter, options, type);
      for (int64_t count = 1; count <= kMost; ++count) {
        SCOPED_TRACE(concat(count, " of ", layer.side, " x ", layer.side, " x ", layer.in, ", ",
                            name_of(type), ", ", name_of(math)));
        const Conv2dWorkspaceBytes bytes = conv2d_workspace_bytes(images(count), filter, options, type);
        EXPECT_GE(bound.forward, bytes.forward);
        EXPECT_GE(bound.forward_sums, bytes.forward_sums);
        EXPECT_GE(bound.data_gradient, bytes.data_gradient);
        EXPECT_GE(bound.filter_gradient, bytes.filter_gradient);
      }
    }
}

// The sizes of views of a type are those of floats with this type.
template <class T>
void expect_workspace_of_views(DType type) {
  const Conv2dOptions options = {.pad_h = 1, .pad_w = 1};
  const auto all = [](const Conv2dWorkspaceBytes& b) {
    return std::array{b.forward, b.forward_sums, b.data_gradient, b.filter_gradient, b.filter_gradient_bias};
  };
  const ImageView<const float> x = {nullptr, 2, 7, 7, 512};
  const FilterView<const float> filter = {nullptr, 512, 3, 3, 512};
  const ImageView<T> x_of_type = {nullptr, 2, 7, 7, 512};
  const FilterView<const T> filter_of_type = {nullptr, 512, 3, 3, 512};
  EXPECT_EQ(all(conv2d_workspace_bytes(x_of_type, filter_of_type, options)),
            all(conv2d_workspace_bytes(x, filter, options, type)));
  EXPECT_EQ(all(conv2d_workspace_bound(x_of_type, filter_of_type, options)),
            all(conv2d_workspace_bound(x, filter, options, type)));
  if (type == DType::float32) return;
  EXPECT_NE(all(conv2d_workspace_bytes(x, filter, options, type)),
            all(conv2d_workspace_bytes(x, filter, options)))
      << "the comparison could not fail";
}

TEST(ConvWorkspace, IsThatOfTheTypeOfTheViews) {
  expect_workspace_of_views<float>(DType::float32);
  expect_workspace_of_views<__nv_bfloat16>(DType::bfloat16);
  expect_workspace_of_views<__half>(DType::float16);
}

}  // namespace
}  // namespace rondo::test
