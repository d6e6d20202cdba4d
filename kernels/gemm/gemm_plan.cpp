#include <rondo/kernels/gemm/gemm_plan.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/gemm/stream_k.cuh>

#include <algorithm>
#include <limits>
#include <ranges>
#include <tuple>
#include <utility>

namespace rondo {

WgmmaUnsupported wgmma_unsupported(const GemmProblem& product) {
  using enum WgmmaUnsupported::Reason;
  const auto [m, n, k] = product.shape;
  if (product.adds_before_smooth) return {epilogue, 'c'};
  if (m == 0 || n == 0 || k == 0) return {};  // nothing is read
  const DType type = factor_type(product.arithmetic);
  const int64_t element = size_of(type);
  for (const auto& [name, operand, outer] : {std::tuple('a', product.a, m), std::tuple('b', product.b, n)}) {
    if (type == DType::float32 && operand.order != Order::k_major) return {order, name};
    if (operand.address % 16 != 0) return {address, name};
    if (operand.stride % (16 / element) != 0 || operand.stride >= (int64_t{1} << 40) / element)
      return {stride, name};
    if (outer > INT32_MAX || k > INT32_MAX) return {size, name};
  }
  return {};
}

Status check_wgmma_operands(const char* name, const GemmProblem& product) {
  const WgmmaUnsupported unsupported = wgmma_unsupported(product);
  const char* const which = unsupported.operand == 'a' ? "a" : "b";
  const GemmOperand& operand = unsupported.operand == 'a' ? product.a : product.b;
  constexpr const char* kOther = "; gemm_tc_04_pipelined takes it";
  switch (unsupported.reason) {
    case WgmmaUnsupported::Reason::none:
      break;
    case WgmmaUnsupported::Reason::order:
      return bad_argument(name, ": transpose_", which, " is ", unsupported.operand == 'a',
                          ", and wgmma reads tf32 along k only: A must not be transposed, and B must be",
                          kOther);
    case WgmmaUnsupported::Reason::address:
      return bad_argument(name, ": ", which, " is at ", reinterpret_cast<const void*>(operand.address),
                          ", tensor maps need a multiple of 16 bytes", kOther);
    case WgmmaUnsupported::Reason::stride:
      return bad_argument(name, ": ", which, ".stride is ", counted(operand.stride, "element"), " of ",
                          counted(size_of(factor_type(product.arithmetic)), "byte"),
                          ", tensor maps need a multiple of 16 bytes below 2^40", kOther);
    case WgmmaUnsupported::Reason::size:
      return bad_argument(name, ": the product is ", product.shape.m, " x ", product.shape.n, " x ",
                          product.shape.k, ", tensor maps need sizes of ", which, " below 2^31", kOther);
    case WgmmaUnsupported::Reason::epilogue:
      return bad_argument(name, ": GELU or sigmoid of a sum with beta or a residual", kOther);
  }
  return {};
}

namespace {

// The peak of an H100 SXM (data sheet): 989.4 TFLOP/s in 16 bits and 494.7 in tf32, on 132 multiprocessors.
constexpr int kMultiprocessorsOfH100 = kStreamKBlocks;
double multiply_adds_of_multiprocessor(Arithmetic arithmetic) {
  return (factor_type(arithmetic) == DType::float32 ? 494.7e12 : 989.4e12) / 2 / kMultiprocessorsOfH100;
}
constexpr double kLaunch = 1.4e-6;  // seconds, an estimate: graph_node_us of tools/simt/src/host/gpus.cpp

// The time of the copies, in the unit of estimated_time(): multiply-adds of one multiprocessor over k.
double copy_time(const GemmShape& shape, TransposedCopies copies, Arithmetic arithmetic) {
  constexpr double kBytesPerSecond =
      2.3e12;  // of a copy of 4096 x 4096 floats on an H200, bench/results/h200
  const double rows =
      (copies.a ? static_cast<double>(shape.m) : 0) + (copies.b ? static_cast<double>(shape.n) : 0);
  const double seconds_per_k = rows * 2 * sizeof(float) / kBytesPerSecond +
                               (copies.a + copies.b) * kLaunch / static_cast<double>(shape.k);
  return seconds_per_k * multiply_adds_of_multiprocessor(arithmetic) /
         (arithmetic == Arithmetic::tf32x3 ? 3 : 1);
}

// The time by stream-K, in the unit of estimated_time(): the k-tiles of a block, the partial sums of two
// tiles, which it writes, and those that it reads, if it is the last one at a tile. The partial sums are
// assumed to stay in L2: 6.65 TB/s (tools/simt/src/host/gpus.cpp). The tensor cores are idle meanwhile.
// Infinite if no tile is divided, or if there are too few.
double stream_k_time(const GemmShape& shape, const TileInfo& tile, int blocks) {
  const auto [m, n] = std::pair(tile.id.m, tile.id.n);
  const DType type = factor_type(tile.id.arithmetic);
  constexpr double kBytesPerSecond = 6.65e12 / kMultiprocessorsOfH100;
  const int64_t tiles = saturating_product({ceil_div<int64_t>(shape.m, m), ceil_div<int64_t>(shape.n, n)});
  const StreamK division = stream_k(tiles, ceil_div<int64_t>(shape.k, 128 / size_of(type)), blocks);
  if (!division.divides() || tiles < ceil_div(blocks, 2) || tiles > INT32_MAX)
    return std::numeric_limits<double>::infinity();
  const double of_tile = static_cast<double>(m) * n;
  const double tiles_of_block = static_cast<double>(division.whole_tiles / blocks) +
                                static_cast<double>(ceil_div<int64_t>(division.divided_k_tiles(), blocks)) /
                                    static_cast<double>(division.k_tiles);
  const int parts = division.max_parts(), read = parts == 2 ? 1 : parts;  // of two, not its own
  const double bytes = of_tile * sizeof(float) * (2 + read);
  const double seconds = bytes / kBytesPerSecond + kLaunch;  // of the fill with zeros
  return tiles_of_block * of_tile / tile.efficiency +
         seconds * multiply_adds_of_multiprocessor(tile.id.arithmetic) / static_cast<double>(shape.k);
}

// The tiles of wgmma for the arithmetic.
auto wgmma_tiles(Arithmetic arithmetic) {
  return tile_infos() | std::views::filter([=](const TileInfo& tile) {
           return tile.id.instruction == Instruction::wgmma && tile.id.arithmetic == arithmetic;
         });
}

// The least time of whole rounds, and the tile.
std::pair<double, TileId> time_of_whole_tiles(const GemmShape& shape, int64_t splits, Arithmetic arithmetic,
                                              int multiprocessors) {
  std::pair best = {std::numeric_limits<double>::infinity(), TileId()};
  for (const TileInfo& tile : wgmma_tiles(arithmetic)) {
    const int blocks = tile.id.cluster_blocks;
    const double time = estimated_time(shape, splits, tile.id.m, tile.id.n, blocks * tile.efficiency,
                                       std::max(1, multiprocessors / blocks));
    if (time < best.first) best = {time, tile.id};
  }
  return best;
}

GemmProblem with_copies(GemmProblem product, TransposedCopies copies) {
  const GemmOperand copy = {Order::k_major, 0, copy_stride(product.shape.k)};
  if (copies.a) product.a = copy;
  if (copies.b) product.b = copy;
  return product;
}

}  // namespace

TransposedCopies copies_for_wgmma(const GemmShape& shape, Order a, Order b, Arithmetic arithmetic) {
  if (factor_type(arithmetic) != DType::float32 || !uses_tensor_cores(arithmetic)) return {};
  if (shape.m == 0 || shape.n == 0 || shape.k == 0) return {};
  const TransposedCopies copies = {a == Order::mn_major, b == Order::mn_major};
  // The time of an H100, on every device: the workspace is planned without a device.
  const double product = static_cast<double>(shape.m) * static_cast<double>(shape.n) / kMultiprocessorsOfH100;
  const bool pays =
      copy_time(shape, copies, arithmetic) < product / mma_sync_relative_throughput(arithmetic) - product;
  return pays ? copies : TransposedCopies();
}

int64_t stream_k_workspace_bytes(const TileId& tile, int blocks) {
  const int warps = tile.m / 16;
  return int64_t{blocks} * (2 * tile.m * tile.n + warps) * static_cast<int64_t>(sizeof(float));
}

std::optional<TileId> stream_k_tile(const GemmShape& shape, Order a, Order b, Arithmetic arithmetic) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0 || split_k(shape).splits > 1) return {};
  if (arithmetic == Arithmetic::fp32 || arithmetic == Arithmetic::tf32x3) return {};
  if (arithmetic == Arithmetic::tf32) {
    const TransposedCopies copies = copies_for_wgmma(shape, a, b, arithmetic);
    if ((a != Order::k_major && !copies.a) || (b != Order::k_major && !copies.b)) return {};
  }
  double least = time_of_whole_tiles(shape, 1, arithmetic, kMultiprocessorsOfH100).first;
  std::optional<TileId> best;
  for (const TileInfo& tile : wgmma_tiles(arithmetic)) {
    if (tile.id.cluster_blocks > 1) continue;
    const double time = stream_k_time(shape, tile, kMultiprocessorsOfH100);
    if (!(time < least)) continue;
    least = time;
    best = tile.id;
  }
  return best;
}

std::ostream& operator<<(std::ostream& out, const GemmPlan& plan) {
  const bool wgmma = plan.tile.instruction == Instruction::wgmma;
  out << (wgmma ? "persistent" : "pipelined") << ": tile " << plan.tile << ", ";
  if (plan.stream_k_blocks > 0)
    out << concat("stream-K over ", plan.stream_k_blocks, " blocks");
  else
    out << concat(plan.parts.splits, plan.parts.splits == 1 ? " part" : " parts",
                  " of k = ", plan.parts.k_per_split);
  if (!plan.copies.any()) return out;
  return out << ", transposed copy of " << (!plan.copies.b ? "a" : !plan.copies.a ? "b" : "a and b");
}

GemmPlan choose_gemm_plan(const GemmProblem& product, const DeviceProperties& device) {
  const GemmShape& shape = product.shape;
  const Arithmetic arithmetic = product.arithmetic;
  const GemmOperand &a = product.a, &b = product.b;
  GemmPlan plan;
  plan.parts = split_k(shape);
  const int64_t splits = plan.parts.splits;
  plan.tile = choose_tile(shape.m, shape.n, splits, {.order_a = a.order, .arithmetic = arithmetic}, device);
  const TransposedCopies copies = copies_for_wgmma(shape, a.order, b.order, arithmetic);
  if (!device.wgmma || !uses_tensor_cores(arithmetic) ||
      wgmma_unsupported(with_copies(product, copies)).reason != WgmmaUnsupported::Reason::none)
    return plan;
  const double of_copies = copies.any() ? copy_time(shape, copies, arithmetic) : 0;

  const int multiprocessors = std::max(1, device.multiprocessors);
  double least = estimated_time(shape, splits, plan.tile.m, plan.tile.n,
                                mma_sync_relative_throughput(arithmetic) * tile_info(plan.tile).efficiency,
                                multiprocessors);
  const auto use = [&](double time, const TileId& tile, int stream_k_blocks) {
    if (!(of_copies + time < least)) return;
    least = of_copies + time;
    plan.tile = tile;
    plan.copies = copies;
    plan.stream_k_blocks = stream_k_blocks;
  };
  const auto [time, tile] = time_of_whole_tiles(shape, splits, arithmetic, multiprocessors);
  use(time, tile, 0);
  const std::optional<TileId> divided = stream_k_tile(shape, a.order, b.order, arithmetic);
  if (divided && multiprocessors <= kStreamKBlocks)
    use(stream_k_time(shape, tile_info(*divided), multiprocessors), *divided, multiprocessors);
  return plan;
}

GemmPlan choose_batched_gemm_plan(const GemmProblem& product, int64_t batches,
                                  const DeviceProperties& device) {
  GemmPlan plan;
  plan.parts = {1, product.shape.k};
  plan.tile = choose_tile(product.shape.m, product.shape.n, batches,
                          {.order_a = product.a.order, .arithmetic = product.arithmetic}, device);
  return plan;
}

int64_t partial_sums_bytes(const GemmShape& shape, const GemmPlan& plan) {
  if (plan.stream_k_blocks > 0) return stream_k_workspace_bytes(plan.tile, plan.stream_k_blocks);
  return plan.parts.splits > 1 ? partials_bytes(shape.m, shape.n, plan.parts.splits) : 0;
}

int64_t transposed_copy_floats(int64_t outer, int64_t k) {
  return saturating_product({outer, ceil_div<int64_t>(k, 4), 4});
}

int64_t workspace_bytes(const GemmShape& shape, const GemmPlan& plan) {
  int64_t bytes = partial_sums_bytes(shape, plan);
  for (const int64_t outer : {plan.copies.a ? shape.m : 0, plan.copies.b ? shape.n : 0}) {
    const int64_t more = saturating_product({transposed_copy_floats(outer, shape.k), sizeof(float)});
    bytes = bytes > INT64_MAX - more ? INT64_MAX : bytes + more;
  }
  return bytes;
}

int64_t workspace_bytes(const GemmShape& shape, Order a, Order b, Arithmetic arithmetic) {
  const std::optional<TileId> divided = stream_k_tile(shape, a, b, arithmetic);
  GemmPlan most;
  most.parts = split_k(shape);
  most.copies = copies_for_wgmma(shape, a, b, arithmetic);
  if (divided) most.tile = *divided, most.stream_k_blocks = kStreamKBlocks;
  return workspace_bytes(shape, most);
}

}  // namespace rondo
