// The choice of the kernel of a product: a pure function of the product and of the device. The result can be
// printed, and tested for every GPU without one.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/split_k.h>
#include <rondo/kernels/gemm/tiles.h>

#include <cstdint>
#include <optional>
#include <ostream>

namespace rondo {

// An operand of a product: the memory order, the address of its first element, and the distance of rows in
// elements.
struct GemmOperand {
  Order order = Order::k_major;
  uintptr_t address = 0;
  int64_t stride = 0;
};
struct GemmProblem {
  GemmShape shape;
  Arithmetic arithmetic = Arithmetic::fp32;
  GemmOperand a, b;
  bool adds_before_smooth = false;  // a smooth activation of a sum with old values of c or a residual
};
template <class T, class C>
GemmProblem problem_of(const GemmArgumentsOf<T, C>& g) {
  return {{g.m, g.n, g.k},
          g.arithmetic,
          {g.transpose_a ? Order::mn_major : Order::k_major, reinterpret_cast<uintptr_t>(g.a), g.a_stride},
          {g.transpose_b ? Order::k_major : Order::mn_major, reinterpret_cast<uintptr_t>(g.b), g.b_stride},
          is_smooth(g.activation) &&
              (g.beta != 0 || g.residual != nullptr || g.batches.residual_pointers != nullptr)};
}

// Calls run.template operator()<OrderA, OrderB>() with the orders of the operands.
template <class Run>
Status with_orders(Order a, Order b, Run&& run) {
  using enum Order;
  if (a == k_major)
    return b == k_major ? run.template operator()<k_major, k_major>()
                        : run.template operator()<k_major, mn_major>();
  return b == k_major ? run.template operator()<mn_major, k_major>()
                      : run.template operator()<mn_major, mn_major>();
}

// The throughput of a multiprocessor by the kernels with mma.sync, relative to that by wgmma, on an H200
// (bench/results/h200). Unused parts of tiles and of the last round count. In tf32: 121 TFLOP/s in a product
// of 2056 x 2056 x 6912, beside 403 in one of 4096 x 4096 x 4096; the filter gradients of ResNet-18 are near
// it. 16 bits are assumed to be alike. In tf32x3: 48 in a product of 1024 x 1024 x 1024, beside 96; both
// divided by the efficiency of the tile.
constexpr double mma_sync_relative_throughput(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::tf32x3 ? 0.5 : 0.3;
}

// Why wgmma and tensor maps cannot compute a product (tensor_ladder/gemm_tc_05_wgmma and later rungs):
//   order     An operand in tf32 is not K-major: A is transposed, or B is not.
//   address   An address is not a multiple of 16 bytes.
//   stride    The distance of two rows is not a multiple of 16 bytes, or is 2^40 bytes or more.
//   size      There are 2^31 rows or columns, or more.
//   epilogue  A smooth activation is applied in registers, where there are no old values of C or residual.
struct WgmmaUnsupported {
  enum class Reason { none, order, address, stride, size, epilogue };
  Reason reason = Reason::none;
  char operand = 0;  // 'a' or 'b'
};
WgmmaUnsupported wgmma_unsupported(const GemmProblem& product);
// The same as a Status: bad_argument with the value, and the rung that takes it. Nothing is wrong with a and
// b if no element of them is read.
Status check_wgmma_operands(const char* name, const GemmProblem& product);

// Which operands gemm() copies for wgmma: in tf32 and tf32x3 those that are not contiguous along k, where the
// copies take less time than wgmma saves, on an H100. A function of the product alone, so that the workspace
// is, too.
struct TransposedCopies {
  bool a = false, b = false;
  bool any() const { return a || b; }
};
TransposedCopies copies_for_wgmma(const GemmShape& shape, Order a, Order b, Arithmetic arithmetic);

// The distance of the rows of a copy, in elements, for tensor maps.
constexpr int64_t copy_stride(int64_t k) { return (k + 3) / 4 * 4; }

// The most blocks of stream-K: the multiprocessors of an H100 SXM and an H200. Other GPUs of compute
// capability 9.0 have fewer.
inline constexpr int kStreamKBlocks = 132;

// The workspace for the partial sums of at most two tiles of each block, and for the counters of their warps.
int64_t stream_k_workspace_bytes(const TileId& tile, int blocks);

// The tile by which gemm() divides a product among the blocks of an H100 by stream-K (stream_k.cuh), if the
// estimated time is less than that of whole rounds of any tile. A function of the product alone, so that the
// workspace is, too. Each multiprocessor has work for half of a tile or more: split_k() is for fewer tiles.
std::optional<TileId> stream_k_tile(const GemmShape& shape, Order a, Order b, Arithmetic arithmetic);

// The tile's instruction selects the kernel.
struct GemmPlan {
  TileId tile;
  SplitK parts;             // of k; not used with stream-K
  TransposedCopies copies;  // for wgmma
  int stream_k_blocks = 0;  // of wgmma: blocks that divide the last tiles by stream-K; 0: whole tiles
};
std::ostream& operator<<(std::ostream& out, const GemmPlan& plan);

// The kernel and the tile with the least estimated time, as choose_tile() estimates it. wgmma needs
// device.wgmma, an arithmetic of tensor cores, and a product that wgmma supports, if necessary after
// copies_for_wgmma(). Stream-K is for products with a stream_k_tile(), over the multiprocessors of the device
// if they are at most kStreamKBlocks.
GemmPlan choose_gemm_plan(const GemmProblem& product, const DeviceProperties& device);

// The tile for a batch of products, one launch of the pipelined kernel: by multiply-adds or mma.sync, without
// split-K. The kernels of wgmma take one product.
GemmPlan choose_batched_gemm_plan(const GemmProblem& product, int64_t batches,
                                  const DeviceProperties& device);

// The workspace of a plan: the partial sums of split-K or stream-K, and after them the transposed copies of
// operands.
int64_t partial_sums_bytes(const GemmShape& shape, const GemmPlan& plan);
int64_t transposed_copy_floats(int64_t outer, int64_t k);  // `outer` rows, copy_stride(k) apart, for every k
int64_t workspace_bytes(const GemmShape& shape, const GemmPlan& plan);

// The workspace of the plans of a product on all devices.
int64_t workspace_bytes(const GemmShape& shape, Order a, Order b, Arithmetic arithmetic);

}  // namespace rondo
