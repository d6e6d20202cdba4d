// What the host code that nvcc compiled passes to a launch. nvcc 13.0 ignores the designators of a braced
// list that is assigned in a template, so the launch shape of persistent blocks, or an epilogue, would have
// other values than g++ gives them. The linker sends cudaLaunchKernelExC to this file (-Wl,--wrap).
#include <gtest/gtest.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/conv2d_wgmma.cuh>

#include <algorithm>
#include <functional>
#include <vector>

#include "../kernels/reference/conv_reference.h"

extern "C" cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);

namespace {

struct SeenLaunch {
  cudaLaunchConfig_t config;
  unsigned cluster = 1;
};
std::vector<SeenLaunch> seen;
std::function<void(void** arguments)> look_at_arguments;

}  // namespace

extern "C" cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                                  void** arguments) {
  SeenLaunch launch{*config};
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
      launch.cluster = config->attrs[i].val.clusterDim.x;
  seen.push_back(launch);
  if (look_at_arguments) look_at_arguments(arguments);
  return __real_cudaLaunchKernelExC(config, kernel, arguments);
}

namespace rondo {

// That of the library, and not one that this file instantiates.
extern template Status launch_conv2d_wgmma<Arithmetic::tf32>(const char*, ConvOperation, const TileId&,
                                                             WgmmaConvPixels,
                                                             const WgmmaConvArguments<float>&, cudaStream_t);

namespace {

class NvccLaunches : public testing::Test {
 protected:
  void SetUp() override {
    DeviceProperties device;
    throw_if_error(device_properties(&device));
    if (!device.wgmma) GTEST_SKIP() << "the device has no wgmma";
    multiprocessors = device.multiprocessors;
    seen.clear();
  }
  void TearDown() override { look_at_arguments = nullptr; }

  int64_t multiprocessors = 0;
};

// The shape of a launch whose designators g++ and nvcc must read alike.
template <class T>
void assign(LaunchShape* shape, T blocks) {
  *shape = LaunchShape{.grid_x = blocks, .block_x = 384, .shared_bytes = 1000, .cluster_x = 2};
}

TEST_F(NvccLaunches, DesignatorsOfANamedTypeAreKept) {
  LaunchShape shape;
  assign<int64_t>(&shape, 12);
  EXPECT_EQ(shape.grid_x, 12);
  EXPECT_EQ(shape.grid_y, 1);
  EXPECT_EQ(shape.grid_z, 1);
  EXPECT_EQ(shape.block_x, 384);
  EXPECT_EQ(shape.block_y, 1);
  EXPECT_EQ(shape.shared_bytes, 1000);
  EXPECT_EQ(shape.cluster_x, 2);
}

struct PersistentTile {
  int rows, columns, groups;  // groups: of consumer warps; one more loads
  int cluster = 1;
};

// As persistent.cuh and clusters.cuh do: a block for each multiprocessor, or for each tile.
TEST_F(NvccLaunches, PersistentBlocksHaveTheirShape) {
  for (const PersistentTile& tile :
       {PersistentTile{128, 128, 2}, PersistentTile{128, 256, 2}, PersistentTile{192, 192, 3},
        PersistentTile{192, 176, 3}, PersistentTile{256, 256, 2, 2}})
    for (const int64_t m : {200, 2000}) {
      SCOPED_TRACE(concat("tile of ", tile.rows, " x ", tile.columns, ", m = ", m));
      const int64_t n = m, k = 4;
      Buffer<float> a(m * k), b(k * n), c(m * n);
      GemmArguments g = {};
      g.m = m, g.n = n, g.k = k;
      g.a = a.data(), g.b = b.data(), g.c = c.data();
      g.a_stride = g.b_stride = k, g.c_stride = n;
      g.transpose_b = true;
      g.alpha = 1;
      g.arithmetic = Arithmetic::tf32;
      seen.clear();
      GemmPlan plan;
      plan.tile = TileId{Instruction::wgmma, Arithmetic::tf32, tile.rows, tile.columns, tile.cluster};
      throw_if_error(gemm_with_plan("gemm", plan, g, {}, nullptr));
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      ASSERT_EQ(seen.size(), 1u);
      const int64_t tiles =
          ceil_div<int64_t>(m, tile.rows) * ceil_div<int64_t>(n, tile.columns) * tile.cluster;
      const cudaLaunchConfig_t& config = seen[0].config;
      EXPECT_EQ(config.gridDim.x, std::min(tiles, multiprocessors / tile.cluster * tile.cluster));
      EXPECT_EQ(config.gridDim.y, 1u);
      EXPECT_EQ(config.gridDim.z, 1u);
      EXPECT_EQ(config.blockDim.x, static_cast<unsigned>(128 * (tile.groups + 1)));
      EXPECT_EQ(config.blockDim.y, 1u);
      EXPECT_GT(config.dynamicSmemBytes, 100u << 10);  // the stages of the ring
      EXPECT_EQ(seen[0].cluster, static_cast<unsigned>(tile.cluster));
    }
}

// A convolution whose sums are divided stores its parts as whole vectors, without the epilogue of the result.
TEST_F(NvccLaunches, PartsOfAConvolutionAreStoredAligned) {
  const test::ConvCase c{1, 16, 16, 64, 64, 3, 3, {.pad_h = 1, .pad_w = 1}};
  const ConvGeometry geometry = test::geometry_of(c);
  constexpr ConvOperation kForward = ConvOperation::forward;
  Buffer<float> x(c.x_size()), y(c.y_size()), filter(c.filter_size()),
      parts(conv2d_partials_bytes(kForward, geometry, 2) / 4);
  int launches = 0;
  look_at_arguments = [&](void** arguments) {
    if (launches++ != 0) return;  // sum_partials()
    using Parameters = WgmmaConvParameters<float, Im2colRows>;
    const Epilogue& epilogue = static_cast<const Parameters*>(arguments[0])->epilogue;
    EXPECT_TRUE(epilogue.aligned);
    EXPECT_EQ(epilogue.alpha, 1);
    EXPECT_EQ(epilogue.beta, 0);
    EXPECT_EQ(epilogue.bias, nullptr);
    EXPECT_EQ(epilogue.activation, Activation::none);
  };
  throw_if_error(launch_conv2d_wgmma<Arithmetic::tf32>(
      "conv", kForward, TileId{Instruction::wgmma, Arithmetic::tf32, 128, 64}, WgmmaConvPixels::im2col,
      {y.data(), x.data(), filter.data(), {}, geometry, 2, parts.data()}, nullptr));
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(launches, 2);
}

}  // namespace
}  // namespace rondo
