// Drawn convolutions of every arithmetic: shapes, also empty ones, strides, padding, misalignment, algorithms
// and tiles; gradients added to old values; transposed convolutions.
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rondo::test {

template <class Factor, Math of_products>
struct ConvArithmetic {
  using T = Factor;
  static constexpr Math kMath = of_products;
};

struct ConvDraw {
  ConvCase c;
  std::optional<TileId> tile;              // none: the library chooses
  int64_t splits;                          // of a tile, for y and dx
  bool fused;                              // bias and ReLU
  int64_t x, filter, dy, bias, y, dx, dw;  // offsets in elements
  float beta;                              // of the gradients
};

using ConvArithmetics =
    testing::Types<ConvArithmetic<float, Math::fp32>, ConvArithmetic<float, Math::tf32>,
                   ConvArithmetic<float, Math::tf32x3>, ConvArithmetic<__nv_bfloat16, Math::fp32>,
                   ConvArithmetic<__half, Math::fp32>>;

// `bias`: of y; `transposed_bias`: of `transposed`. Empty without `fused`. The old values are those of the
// gradients, which are not read without beta.
struct ConvInputs {
  std::vector<float> x, filter, dy, bias, transposed_bias, old_dx, old_dw, old_db;
};
// `transposed`: the transposed convolution of dy.
template <class T>
struct ConvResults {
  std::vector<T> y, dx, transposed;
  std::vector<float> dw, db;
};

template <class A>
class ConvDraws {
 public:
  using T = typename A::T;
  static constexpr Arithmetic kArithmetic = arithmetic_of(dtype_of<T>, A::kMath);

  // gpu_tiles: only the tiles that a GPU has, too.
  explicit ConvDraws(bool gpu_tiles = false) : gpu_tiles_(gpu_tiles) {
    throw_if_error(device_properties(&device_));
  }
  // Whether the device has such products.
  static bool supported() { return check_math("", A::kMath).ok() && check_factor_type("", dtype_of<T>).ok(); }
  static uint64_t seed() {
    return 1000 + 10 * static_cast<uint64_t>(dtype_of<T>) + static_cast<uint64_t>(A::kMath);
  }
  static std::string name() {
    return dtype_of<T> == DType::float32 ? name_of(A::kMath) : name_of(dtype_of<T>);
  }

  ConvDraw draw(Random& random) const {
    const auto some = [&](int64_t below) { return random.below(2) == 0 ? 0 : random.below(below); };
    const int64_t r = 1 + random.below(4), s = 1 + random.below(4);
    ConvCase c = {1 + random.below(5),
                  r + random.below(8),
                  s + random.below(8),
                  channels(random),
                  channels(random),
                  r,
                  s};
    Conv2dOptions& o = c.options;
    o = {1 + random.below(3), 1 + random.below(3), random.below(3), random.below(3)};
    o.math = A::kMath;
    if (random.below(4) == 0) {  // a shape that Winograd's algorithm takes
      c.r = c.s = 3, c.h = 3 + random.below(6), c.w = 3 + random.below(6);
      o.stride_h = o.stride_w = 1;
      c.c = 16 * (1 + random.below(4)), c.k = 16 * (1 + random.below(4));
      if (random.below(2) == 0) o.pad_bottom = random.below(4);
    } else {
      draw_dilation_and_sides(random, c);
      if (random.below(3) == 0) {
        constexpr int64_t kGroups[] = {2, 3, 4, 7, 16, 33, 40};
        o.groups = kGroups[random.below(7)];
        const auto in_group = [&] {
          return random.below(2) == 0 ? 1 : random.below(4) == 0 ? 8 : 1 + random.below(9);
        };
        c.c = o.groups * in_group(), c.k = o.groups * in_group();
        if (random.below(3) == 0) c.c = c.k = o.groups;
      }
    }
    switch (random.below(24)) {
      case 0:
        c.n = 0;
        break;
      case 1:
        c.c = 0;
        break;
      case 2:
        c.k = 0;
        break;
      case 3:  // an image of padding only
        c.h = 0;
        o.pad_h = c.r * o.dilation_h;
        break;
    }
    const bool by_winograd = !uses_tensor_cores(kArithmetic) && winograd::fits(geometry_of(c));
    o.algorithm = static_cast<ConvAlgorithm>(random.below(by_winograd ? 3 : 2));
    const std::vector<TileId> all = tiles();
    const bool with_tile = !all.empty() && o.groups == 1 && random.below(3) == 0;
    return {c,
            with_tile ? std::optional(all[static_cast<size_t>(random.below(std::ssize(all)))]) : std::nullopt,
            1 + random.below(3),
            random.below(2) == 0,
            some(9),
            some(9),
            some(9),
            some(9),
            some(9),
            some(9),
            some(9),
            random.below(2) == 0 ? 0.0f : static_cast<float>(random.below(9) - 4) / 2};
  }
  static std::string describe(const ConvDraw& d) {
    constexpr const char* kAlgorithms[] = {"automatic", "direct", "winograd"};
    return concat(testing::PrintToString(d.c), ", ",
                  d.tile ? concat("tile ", name_of(*d.tile), ", parts ", d.splits)
                         : kAlgorithms[static_cast<int>(d.c.options.algorithm)],
                  d.fused ? ", bias and ReLU" : "", ", beta ", 2 * d.beta, " / 2, offsets ", d.x, " ",
                  d.filter, " ", d.dy, " ", d.bias, " ", d.y, " ", d.dx, " ", d.dw);
  }

  static ConvMethod method(const ConvDraw& d, ConvOperation operation) {
    if (d.tile) return ConvMethod::implicit_gemm;
    return choose_conv_method(
        {operation, geometry_of(d.c), kArithmetic, d.c.options.algorithm, nullptr, nullptr});
  }
  // values(size, seed): the values of an operand.
  template <class Values>
  static ConvInputs inputs(const ConvDraw& d, const Values& values) {
    const ConvCase& c = d.c;
    return {.x = values(c.x_size(), 1),
            .filter = values(c.filter_size(), 2),
            .dy = values(c.y_size(), 3),
            .bias = d.fused ? values(c.k, 4) : std::vector<float>(),
            .transposed_bias = d.fused ? values(c.c, 5) : std::vector<float>(),
            .old_dx = values(c.x_size(), 6),
            .old_dw = values(c.filter_size(), 7),
            .old_db = values(c.k, 8)};
  }
  static ConvResults<T> compute(const ConvDraw& d, const ConvInputs& in) {
    constexpr auto kForward = ConvOperation::forward, kDataGradient = ConvOperation::data_gradient,
                   kFilterGradient = ConvOperation::filter_gradient;
    const ConvCase& c = d.c;
    const ConvGeometry g = geometry_of(c);
    Conv2dWorkspaceBytes bytes = conv2d_workspace_bytes(
        x_view<const float>(c, nullptr), filter_view<const float>(c, nullptr), c.options, dtype_of<T>);
    if (d.tile)
      bytes = Conv2dWorkspaceBytes{.forward = conv2d_partials_bytes(kForward, g, d.splits),
                                   .data_gradient = conv2d_partials_bytes(kDataGradient, g, d.splits),
                                   .filter_gradient_bias = bias_workspace_bytes(
                                       {kFilterGradient, g, kArithmetic}, filter_plan_of_tile(*d.tile, g))};
    GuardedBuffer<T> dev_x(rounded<T>(in.x), d.x), dev_filter(rounded<T>(in.filter), d.filter),
        dev_dy(rounded<T>(in.dy), d.dy), y(c.y_size(), d.y), dx(c.x_size(), d.dx),
        transposed(c.x_size(), d.dx);
    GuardedBuffer<float> dev_bias(in.bias, d.bias), dev_transposed_bias(in.transposed_bias, d.bias),
        dw(c.filter_size(), d.dw), db(c.k, d.bias), for_y(bytes.forward / 4), for_dx(bytes.data_gradient / 4),
        for_dw(bytes.filter_gradient_bias / 4);
    if (d.beta != 0) dx.upload(rounded<T>(in.old_dx)), dw.upload(in.old_dw), db.upload(in.old_db);
    const Stream stream;
    const TileId tile = d.tile.value_or(TileId());
    const ConvPlan plan = plan_of_tile(tile, d.splits), plan_of_dw = filter_plan_of_tile(tile, g);
    Conv2dEpilogueOf<T> epilogue;
    ConvTranspose2dEpilogue of_transposed;
    if (d.fused) {
      epilogue = Conv2dEpilogueOf<T>{.bias = dev_bias.view(), .relu = true};
      of_transposed = ConvTranspose2dEpilogue{.bias = dev_transposed_bias.view(), .relu = true};
    }

    EXPECT_TRUE(ok(conv2d_forward_with_plan<T>(
        d.tile ? &plan : nullptr, y_view(c, y.data()), x_view<const T>(c, dev_x.data()),
        filter_view<const T>(c, dev_filter.data()), c.options, epilogue, for_y.workspace(), stream)));
    EXPECT_TRUE(ok(conv2d_data_gradient_with_plan<T>(d.tile ? &plan : nullptr, x_view(c, dx.data()),
                                                     y_view<const T>(c, dev_dy.data()),
                                                     filter_view<const T>(c, dev_filter.data()), c.options,
                                                     {.beta = d.beta}, for_dx.workspace(), stream)));
    EXPECT_TRUE(ok(conv_transpose2d_with_plan<T>(
        d.tile ? &plan : nullptr, x_view(c, transposed.data()), y_view<const T>(c, dev_dy.data()),
        filter_view<const T>(c, dev_filter.data()), c.options, of_transposed, for_dx.workspace(), stream)));
    EXPECT_TRUE(ok(conv2d_filter_gradient_with_plan<T>(
        d.tile ? &plan_of_dw : nullptr, filter_view(c, dw.data()), y_view<const T>(c, dev_dy.data()),
        x_view<const T>(c, dev_x.data()), c.options, {.beta = d.beta, .bias_gradient = db.view()},
        for_dw.workspace(), stream)));
    return {y.download(), dx.download(), transposed.download(), dw.download(), db.download()};
  }

 private:
  static int64_t channels(Random& random) {
    constexpr int64_t kOften[] = {1, 3, 4, 7, 8, 16, 20, 33, 64, 65};
    return random.below(4) == 0 ? 1 + random.below(100) : kOften[random.below(10)];
  }

  // Of the arithmetic, those that a block of the device has the shared memory of.
  std::vector<TileId> tiles() const {
    std::vector<TileId> all;
    for (const TileInfo& tile : tile_infos()) {
      const bool of_gpus = tile.id.instruction != Instruction::vector_fma;
      if (tile.id.arithmetic == kArithmetic && tile.id.instruction != Instruction::wgmma &&
          (of_gpus || !gpu_tiles_) &&
          std::max(shared_bytes(tile, kGatherNeeds), shared_bytes(tile, kPatchNeeds)) <=
              device_.shared_bytes_per_block)
        all.push_back(tile.id);
    }
    return all;
  }

  bool gpu_tiles_;
  DeviceProperties device_;
};

// visit(ConvDraws<A>) for every arithmetic, with the tiles of GPUs.
template <class Visit>
void for_each_conv_arithmetic(Visit&& visit) {
  const auto all = [&]<class... A>(testing::Types<A...>) { (visit(ConvDraws<A>(true)), ...); };
  all(ConvArithmetics());
}

}  // namespace rondo::test
