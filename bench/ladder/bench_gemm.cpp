// All rungs of both GEMM ladders, every tile of gemm(), and gemm() on the shapes of LeNet's linear layers.

#include <rondo/bench/ladder/product.h>
#include <rondo/bench/support/bench.h>
#include <rondo/kernels/gemm/device_properties.h>
#include <rondo/kernels/gemm/gemm_with_plan.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/kernels/gemm/tiles.h>
#include <rondo/kernels/runtime/platform.h>

#include <string>
#include <type_traits>

namespace rondo::bench {
namespace {

// A rung and its arithmetic.
template <class T>
struct Variant {
  std::string id;
  Math math;
  TensorRung::Run<T> run;
};

template <class T, class Gemm>
void time_product(benchmark::State& state, const Gemm& gemm, Math math, const ProductShape& shape) {
  Product<T> product(shape);
  const auto run = [&](cudaStream_t stream) { return product.run_by(gemm, math, stream); };
  run_once(run);
  if (!product.is_right(math)) return state.SkipWithError("the product is wrong");
  const Work work = product.work();
  time_device_work(state, Cache::hot, work, bound_of(work, arithmetic_of(dtype_of<T>, math)), run);
}

struct Layer {
  const char* name;
  ProductShape shape;
};

// The products of LeNet's linear layers at batch 256. Weights are stored as [in, out].
constexpr Layer kLayers[] = {
    {"linear1_forward", {{256, 128, 800}, false, false}},
    {"linear1_weight_gradient", {{800, 128, 256}, true, false}},
    {"linear1_data_gradient", {{256, 800, 128}, false, true}},
    {"linear2_forward", {{256, 10, 128}, false, false}},
    {"linear2_weight_gradient", {{128, 10, 256}, true, false}},
    {"linear2_data_gradient", {{256, 128, 10}, false, true}},
};

template <class T>
void add(const std::string& name, const Variant<T>& variant, const ProductShape& shape) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) { time_product<T>(state, variant.run, variant.math, shape); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

bool has_tile(const TileInfo& tile) {
  const Math math = math_of(tile.id.arithmetic);
  DeviceProperties device;
  throw_if_error(device_properties(&device));
  return check_math("", math).ok() && check_factor_type("", factor_type(tile.id.arithmetic)).ok() &&
         (tile.id.instruction != Instruction::wgmma || device.wgmma) &&
         shared_bytes(tile, {}) <= device.shared_bytes_per_block;
}

// "gemm/fp32/tile/fma:128x32/size:4096/nt": the tile, also where gemm() would choose another. A and B are
// contiguous along k, which every tile takes. A cluster's size is the third number.
template <class T>
void add_tile(const TileInfo& tile, int64_t size) {
  if (factor_type(tile.id.arithmetic) != dtype_of<T> || !has_tile(tile)) return;
  const auto run = [id = tile.id](MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                                  const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
    GemmArgumentsOf<T> arguments;
    RONDO_RETURN_IF_ERROR(check_gemm("gemm", nullptr, c, a, b, options, {}, &arguments));
    GemmPlan plan;
    plan.tile = id;
    plan.parts = split_k({arguments.m, arguments.n, arguments.k});
    return gemm_with_plan("gemm", plan, arguments, workspace, stream);
  };
  const TileId& id = tile.id;
  const std::string name = concat(name_of(id.instruction), ":", id.m, "x", id.n,
                                  id.cluster_blocks > 1 ? concat("x", id.cluster_blocks) : "");
  const ProductShape shape = {{size, size, size}, false, true};
  benchmark::RegisterBenchmark(
      concat("gemm/", name_of(id.arithmetic), "/tile/", name, "/size:", size, "/", shape.layout()).c_str(),
      [=, math = math_of(id.arithmetic)](benchmark::State& state) {
        time_product<T>(state, run, math, shape);
      })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

// "gemm/03_shared_tiles/size:512/nt", and with tensor cores "gemm/tf32/tc_03_ldmatrix/size:512/nt".
template <class T>
void add_layouts(const std::string& prefix, const Variant<T>& variant, int64_t size,
                 bool uses_wgmma = false) {
  if (!is_on_device<T>(variant.run, variant.math)) return;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      const ProductShape shape = {{size, size, size}, transpose_a, transpose_b};
      if (!uses_wgmma || wgmma_takes<T>(shape))
        add(concat(prefix, variant.id, "/size:", size, "/", shape.layout()), variant, shape);
    }
}

const bool registered = register_on_device([] {
  // On the CPU executor the first rungs would take minutes for the sizes that keep a GPU busy.
  for (const int64_t size : {192, 512, 1024, 4096}) {
    if (size > 1024 && std::string(platform()) == "cpu") continue;
    for (const GemmVariant& variant : gemm_variants())
      add_layouts<float>("gemm/", {variant.id, Math::fp32, variant.run}, size);
    for (const TensorRung& rung : tensor_rungs()) {
      add_layouts<float>("gemm/tf32/", {rung.id, Math::tf32, rung.tf32}, size, rung.uses_wgmma);
      add_layouts<float>("gemm/tf32x3/", {rung.id, Math::tf32x3, rung.tf32}, size, rung.uses_wgmma);
      add_layouts<__nv_bfloat16>("gemm/bf16/", {rung.id, Math::fp32, rung.bf16}, size, rung.uses_wgmma);
      add_layouts<__half>("gemm/fp16/", {rung.id, Math::fp32, rung.fp16}, size, rung.uses_wgmma);
    }
    add_layouts<float>("gemm/tf32/", {"gemm", Math::tf32, gemm}, size);
    add_layouts<float>("gemm/tf32x3/", {"gemm", Math::tf32x3, gemm}, size);
    add_layouts<__nv_bfloat16>("gemm/bf16/", {"gemm", Math::fp32, gemm}, size);
    add_layouts<__half>("gemm/fp16/", {"gemm", Math::fp32, gemm}, size);
    for (const TileInfo& tile : tile_infos()) {
      add_tile<float>(tile, size);
      add_tile<__nv_bfloat16>(tile, size);
      add_tile<__half>(tile, size);
    }
  }
  for (const Layer& layer : kLayers)
    add<float>(concat("gemm/lenet/", layer.name), {"gemm", Math::fp32, gemm}, layer.shape);
});

}  // namespace
}  // namespace rondo::bench
