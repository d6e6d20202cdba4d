#include <rondo/kernels/gemm/gemm_plan.h>

#include <rondo/kernels/core/launch.cuh>

#include <algorithm>
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
      return bad_argument(name, ": ", which, ".stride is ", operand.stride, " elements of ",
                          size_of(product.type), " bytes, tensor maps need a multiple of 16 bytes below 2^40",
                          kOther);
    case WgmmaUnsupported::Reason::size:
      return bad_argument(name, ": the product is ", product.shape.m, " x ", product.shape.n, " x ",
                          product.shape.k, ", tensor maps need sizes of ", which, " below 2^31", kOther);
  }
  return {};
}

namespace {

// Of an H100 SXM (data sheet): 494.7 TFLOP/s in tf32 on 132 multiprocessors, 3.35 TB/s, of which copies get
// 3.
constexpr int kMultiprocessorsOfH100 = 132;

// The time of the copies, in the unit of estimated_time(): multiply-adds of one multiprocessor over k.
double copy_time(const GemmShape& shape, TransposedCopies copies, Math math) {
  constexpr double kMultiplyAdds = 494.7e12 / 2 / kMultiprocessorsOfH100, kBytesPerSecond = 3e12,
                   kLaunch = 1.4e-6;
  const double rows =
      (copies.a ? static_cast<double>(shape.m) : 0) + (copies.b ? static_cast<double>(shape.n) : 0);
  const double seconds_per_k = rows * 2 * sizeof(float) / kBytesPerSecond +
                               (copies.a + copies.b) * kLaunch / static_cast<double>(shape.k);
  return seconds_per_k * kMultiplyAdds / (math == Math::tf32x3 ? 3 : 1);
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
  out << "persistent: tile " << wgmma_tile_infos()[static_cast<size_t>(plan.tile)].name << ", "
      << plan.config.splits << (plan.config.splits == 1 ? " part" : " parts")
      << " of k = " << plan.config.k_per_split;
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
  for (size_t i = 0; i < wgmma_tile_infos().size(); ++i) {
    const WgmmaTileInfo& tile = wgmma_tile_infos()[i];
    if (product.math == Math::tf32x3 && !tile.tf32x3) continue;
    const double time = of_copies + estimated_time(product.shape, splits, tile.m, tile.n,
                                                   tile.cluster_blocks * tile.efficiency,
                                                   std::max(1, multiprocessors / tile.cluster_blocks));
    if (!(time < least)) continue;
    least = time;
    plan.kernel = GemmPlan::Kernel::persistent;
    plan.tile = static_cast<WgmmaTileId>(i);
    plan.copies = copies;
  }
  return plan;
}

}  // namespace rondo
