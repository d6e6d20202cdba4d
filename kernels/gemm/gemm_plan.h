// The choice of the kernel of a product by tensor cores: a pure function of the product and of the device.
// The result can be printed, and tested for every GPU without one.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_config.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>

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
  DType type = DType::float32;  // of the factors
  Math math = Math::fp32;
  GemmOperand a, b;
};
template <class T, class C>
GemmProblem problem_of(const GemmArgumentsOf<T, C>& g) {
  return {{g.m, g.n, g.k},
          dtype_of<T>,
          g.math,
          {g.transpose_a ? Order::mn_major : Order::k_major, reinterpret_cast<uintptr_t>(g.a), g.a_stride},
          {g.transpose_b ? Order::k_major : Order::mn_major, reinterpret_cast<uintptr_t>(g.b), g.b_stride}};
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

// The throughput of mma.sync relative to that of wgmma: arXiv 2501.12084, "Dissecting the NVIDIA Hopper
// Architecture", table of mma and wgmma.
inline constexpr double kMmaSyncRelativeThroughput = 0.63;

// The time of a product with tiles of m x n, in any unit: that of the blocks of the busiest multiprocessor.
double estimated_time(const GemmShape& shape, int64_t splits, int m, int n, double speed,
                      int multiprocessors);

// Why wgmma and tensor maps cannot compute a product (gemm_tc_05_wgmma and later rungs):
//   order     An operand in tf32 is not K-major: A is transposed, or B is not.
//   address   An address is not a multiple of 16 bytes.
//   stride    The distance of two rows is not a multiple of 16 bytes, or is 2^40 bytes or more.
//   size      There are 2^31 rows or columns, or more.
struct WgmmaUnsupported {
  enum class Reason { none, order, address, stride, size };
  Reason reason = Reason::none;
  char operand = 0;  // 'a' or 'b'
};
WgmmaUnsupported wgmma_unsupported(const GemmProblem& product);
// The same as a Status: bad_argument with the value, and the rung that takes it. Nothing is wrong if no
// element of a and b is read.
Status check_wgmma_operands(const char* name, const GemmProblem& product);

// Which operands gemm() copies for wgmma: in tf32 and tf32x3 those that are not contiguous along k, where the
// copies take less time than wgmma saves, on an H100. A function of the product alone, so that the workspace
// is, too.
struct TransposedCopies {
  bool a = false, b = false;
  bool any() const { return a || b; }
};
TransposedCopies copies_for_wgmma(const GemmShape& shape, Order a, Order b, DType type, Math math);

// The distance of the rows of a copy, in elements, for tensor maps.
constexpr int64_t copy_stride(int64_t k) { return (k + 3) / 4 * 4; }

// The tiles of gemm_tc_07_persistent and, by pairs of blocks, of gemm_tc_08_clusters: rows, columns, and the
// speed of the multiply-adds of a full tile relative to 128x256. The speeds of single blocks are estimates,
// from the bytes of shared memory that a product reads; no source has one of 192x176, whose tiles cover 2056
// x 2056 results in one round of 132. That of pairs is 734 to 704 TFLOP/s, of a kernel with these tiles at
// 4096 x 4096 x 4096 on an H100 (github.com/pranjalssh/fast.cu).
struct WgmmaTileInfo {
  const char* name;
  int m, n;
  int cluster_blocks;  // that compute it together
  double efficiency;
  bool tf32x3;  // whether there is a kernel for it: its two sums fit into the registers only of small tiles
};
enum class WgmmaTileId { k128x256, k192x192, k192x176, k128x128, kPairOf128x256 };
std::span<const WgmmaTileInfo> wgmma_tile_infos();

// The most blocks of gemm_tc_09_stream_k: the multiprocessors of an H100 SXM and an H200. Other GPUs of
// compute capability 9.0 have fewer.
inline constexpr int kStreamKBlocks = 132;

// The workspace for the partial sums of at most two tiles of each block, and for the counters of their warps.
int64_t stream_k_workspace_bytes(WgmmaTileId tile, int blocks);

// The tile by which gemm() divides a product among the blocks of an H100 by stream-K (stream_k.cuh), if the
// estimated time is less than that of whole rounds of any tile. A function of the product alone, so that the
// workspace is, too. Each multiprocessor has work for half of a tile or more: split_k() is for fewer tiles.
std::optional<WgmmaTileId> stream_k_tile(const GemmShape& shape, Order a, Order b, DType type, Math math);

struct GemmPlan {
  enum class Kernel { pipelined, persistent };
  Kernel kernel = Kernel::pipelined;
  WgmmaTileId tile = {};    // of persistent
  TransposedCopies copies;  // for persistent
  GemmConfig config;        // its tile is that of the pipelined kernel
  int stream_k_blocks = 0;  // of persistent: blocks that divide the last tiles by stream-K; 0: whole tiles
};
std::ostream& operator<<(std::ostream& out, const GemmPlan& plan);

// The kernel and the tile with the least estimated time, as choose_tile() estimates it. `persistent`
// (gemm_tc_07_persistent, gemm_tc_08_clusters, gemm_tc_09_stream_k) needs device.wgmma, a 16-bit type,
// Math::tf32 or tf32x3, and a product that wgmma supports, if necessary after copies_for_wgmma(). Stream-K is
// for products with a stream_k_tile(), over the multiprocessors of the device if they are at most
// kStreamKBlocks.
GemmPlan choose_gemm_plan(const GemmProblem& product, const DeviceProperties& device);

}  // namespace rondo
