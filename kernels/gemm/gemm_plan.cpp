#include <rondo/kernels/gemm/gemm_plan.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/gemm/stream_k.cuh>

#include <algorithm>
#include <limits>
#include <tuple>

namespace rondo {
double estimated_time(const GemmShape& shape, int64_t splits, int m, int n, double speed,
                      int multiprocessors) {
  const int64_t blocks =
      saturating_product({ceil_div<int64_t>(shape.m, m), ceil_div<int64_t>(shape.n, n), splits});
  return static_cast<double>(ceil_div<int64_t>(blocks, multiprocessors)) * m * n / speed;
}

WgmmaUnsupported wgmma_unsupported(const GemmProblem& product) {
  using enum WgmmaUnsupported::Reason;
  const auto [m, n, k] = product.shape;
  if (m == 0 || n == 0 || k == 0) return {};  // nothing is read
  const int64_t element = size_of(product.type);
  for (const auto& [name, operand, outer] : {std::tuple('a', product.a, m), std::tuple('b', product.b, n)}) {
    if (product.type == DType::float32 && operand.order != Order::k_major) return {order, name};
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
                          counted(size_of(product.type), "byte"),
                          ", tensor maps need a multiple of 16 bytes below 2^40", kOther);
    case WgmmaUnsupported::Reason::size:
      return bad_argument(name, ": the product is ", product.shape.m, " x ", product.shape.n, " x ",
                          product.shape.k, ", tensor maps need sizes of ", which, " below 2^31", kOther);
  }
  return {};
}

namespace {

// Of an H100 SXM (data sheet): 989.4 TFLOP/s in 16 bits and 494.7 in tf32, on 132 multiprocessors.
constexpr int kMultiprocessorsOfH100 = kStreamKBlocks;
double multiply_adds_of_multiprocessor(DType type) {
  return (type == DType::float32 ? 494.7e12 : 989.4e12) / 2 / kMultiprocessorsOfH100;
}
constexpr double kLaunch = 1.4e-6;  // seconds, an estimate: graph_node_us of tools/simt/src/host/gpus.cpp

// The time of the copies, in the unit of estimated_time(): multiply-adds of one multiprocessor over k.
double copy_time(const GemmShape& shape, TransposedCopies copies, Math math) {
  constexpr double kBytesPerSecond = 3e12;  // of copies; the data sheet has 3.35 TB/s
  const double rows =
      (copies.a ? static_cast<double>(shape.m) : 0) + (copies.b ? static_cast<double>(shape.n) : 0);
  const double seconds_per_k = rows * 2 * sizeof(float) / kBytesPerSecond +
                               (copies.a + copies.b) * kLaunch / static_cast<double>(shape.k);
  return seconds_per_k * multiply_adds_of_multiprocessor(DType::float32) / (math == Math::tf32x3 ? 3 : 1);
}

// The time by stream-K, in the unit of estimated_time(): the k-tiles of a block, the partial sums of two
// tiles, which it writes, and those that it reads, if it is the last one at a tile. The partial sums are
// assumed to stay in L2: 6.65 TB/s (tools/simt/src/host/gpus.cpp). The tensor cores are idle meanwhile.
// Infinite if no tile is divided, or if there are too few.
double stream_k_time(const GemmShape& shape, DType type, const WgmmaTileInfo& tile, int blocks) {
  constexpr double kBytesPerSecond = 6.65e12 / kMultiprocessorsOfH100;
  const int64_t tiles =
      saturating_product({ceil_div<int64_t>(shape.m, tile.m), ceil_div<int64_t>(shape.n, tile.n)});
  const StreamK division = stream_k(tiles, ceil_div<int64_t>(shape.k, 128 / size_of(type)), blocks);
  if (!division.divides() || tiles < ceil_div(blocks, 2) || tiles > INT32_MAX)
    return std::numeric_limits<double>::infinity();
  const double of_tile = static_cast<double>(tile.m) * tile.n;
  const double tiles_of_block = static_cast<double>(division.whole_tiles / blocks) +
                                static_cast<double>(ceil_div<int64_t>(division.divided_k_tiles(), blocks)) /
                                    static_cast<double>(division.k_tiles);
  const int parts = division.max_parts(), read = parts == 2 ? 1 : parts;  // of two, not its own
  const double bytes = of_tile * sizeof(float) * (2 + read);
  const double seconds = bytes / kBytesPerSecond + kLaunch;  // of the fill with zeros
  return tiles_of_block * of_tile / tile.efficiency +
         seconds * multiply_adds_of_multiprocessor(type) / static_cast<double>(shape.k);
}

// The least time of whole rounds, and the tile.
std::pair<double, WgmmaTileId> time_of_whole_tiles(const GemmShape& shape, int64_t splits, Math math,
                                                   int multiprocessors) {
  std::pair best = {std::numeric_limits<double>::infinity(), WgmmaTileId()};
  for (size_t i = 0; i < wgmma_tile_infos().size(); ++i) {
    const WgmmaTileInfo& tile = wgmma_tile_infos()[i];
    if (math == Math::tf32x3 && !tile.tf32x3) continue;
    const double time = estimated_time(shape, splits, tile.m, tile.n, tile.cluster_blocks * tile.efficiency,
                                       std::max(1, multiprocessors / tile.cluster_blocks));
    if (time < best.first) best = {time, static_cast<WgmmaTileId>(i)};
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

TransposedCopies copies_for_wgmma(const GemmShape& shape, Order a, Order b, DType type, Math math) {
  if (type != DType::float32 || math == Math::fp32 || shape.m == 0 || shape.n == 0 || shape.k == 0) return {};
  const TransposedCopies copies = {a == Order::mn_major, b == Order::mn_major};
  // Of an H100 on every device: the workspace is planned without one.
  const double product = static_cast<double>(shape.m) * static_cast<double>(shape.n) / kMultiprocessorsOfH100;
  const bool pays = copy_time(shape, copies, math) < product / kMmaSyncRelativeThroughput - product;
  return pays ? copies : TransposedCopies();
}

int64_t stream_k_workspace_bytes(WgmmaTileId tile, int blocks) {
  const WgmmaTileInfo& info = wgmma_tile_infos()[static_cast<size_t>(tile)];
  const int warps = info.m / 16;
  return int64_t{blocks} * (2 * info.m * info.n + warps) * static_cast<int64_t>(sizeof(float));
}

std::optional<WgmmaTileId> stream_k_tile(const GemmShape& shape, Order a, Order b, DType type, Math math) {
  if (shape.m == 0 || shape.n == 0 || shape.k == 0 || split_k(shape).splits > 1) return {};
  if (type == DType::float32) {
    const TransposedCopies copies = copies_for_wgmma(shape, a, b, type, math);
    const bool both_k_major = (a == Order::k_major || copies.a) && (b == Order::k_major || copies.b);
    if (math != Math::tf32 || !both_k_major) return {};
  }
  double least = time_of_whole_tiles(shape, 1, math, kMultiprocessorsOfH100).first;
  std::optional<WgmmaTileId> best;
  for (size_t i = 0; i < wgmma_tile_infos().size(); ++i) {
    const WgmmaTileInfo& tile = wgmma_tile_infos()[i];
    if (tile.cluster_blocks > 1) continue;
    const double time = stream_k_time(shape, type, tile, kMultiprocessorsOfH100);
    if (!(time < least)) continue;
    least = time;
    best = static_cast<WgmmaTileId>(i);
  }
  return best;
}

std::span<const WgmmaTileInfo> wgmma_tile_infos() {
  static constexpr WgmmaTileInfo kTiles[] = {{"128x256", 128, 256, 1, 1, false},
                                             {"192x192", 192, 192, 1, 0.98, false},
                                             {"192x176", 192, 176, 1, 0.97, false},
                                             {"128x128", 128, 128, 1, 0.85, true},
                                             {"2 of 128x256", 256, 256, 2, 1.04, false}};
  return kTiles;
}

std::ostream& operator<<(std::ostream& out, const GemmPlan& plan) {
  if (plan.kernel == GemmPlan::Kernel::pipelined) return out << "pipelined: " << plan.config;
  out << "persistent: tile " << wgmma_tile_infos()[static_cast<size_t>(plan.tile)].name << ", ";
  if (plan.stream_k_blocks > 0)
    out << concat("stream-K over ", plan.stream_k_blocks, " blocks");
  else
    out << concat(plan.config.splits, plan.config.splits == 1 ? " part" : " parts",
                  " of k = ", plan.config.k_per_split);
  if (!plan.copies.any()) return out;
  return out << ", transposed copy of " << (!plan.copies.b ? "a" : !plan.copies.a ? "b" : "a and b");
}

GemmPlan choose_gemm_plan(const GemmProblem& product, const DeviceProperties& device) {
  const TileNeeds needs = {.order_a = product.a.order, .type = product.type, .math = product.math};
  GemmPlan plan;
  plan.config = choose_gemm_config(product.shape, needs, device);
  const bool arithmetic = product.type != DType::float32 || product.math != Math::fp32;
  const TransposedCopies copies =
      copies_for_wgmma(product.shape, product.a.order, product.b.order, product.type, product.math);
  if (!device.wgmma || !arithmetic ||
      wgmma_unsupported(with_copies(product, copies)).reason != WgmmaUnsupported::Reason::none)
    return plan;
  const double of_copies = copies.any() ? copy_time(product.shape, copies, product.math) : 0;

  const int64_t splits = plan.config.splits;
  const int multiprocessors = std::max(1, device.multiprocessors);
  const TileInfo& pipelined = tile_infos()[static_cast<size_t>(plan.config.tile)];
  double least = estimated_time(product.shape, splits, pipelined.m, pipelined.n,
                                kMmaSyncRelativeThroughput * pipelined.efficiency, multiprocessors);
  const auto use = [&](double time, WgmmaTileId tile, int stream_k_blocks) {
    if (!(of_copies + time < least)) return;
    least = of_copies + time;
    plan.kernel = GemmPlan::Kernel::persistent;
    plan.tile = tile;
    plan.copies = copies;
    plan.stream_k_blocks = stream_k_blocks;
  };
  const auto [time, tile] = time_of_whole_tiles(product.shape, splits, product.math, multiprocessors);
  use(time, tile, 0);
  const std::optional<WgmmaTileId> divided =
      stream_k_tile(product.shape, product.a.order, product.b.order, product.type, product.math);
  if (divided && multiprocessors <= kStreamKBlocks)
    use(stream_k_time(product.shape, product.type, wgmma_tile_infos()[static_cast<size_t>(*divided)],
                      multiprocessors),
        *divided, multiprocessors);
  return plan;
}

}  // namespace rondo
