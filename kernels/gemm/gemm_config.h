// How a product is cut into blocks: pure functions of its shape and of the device, which can be printed and
// tested without a device. The kernel never decides; these functions never launch.
#pragma once

#include <rondo/kernels/gemm/gemm.h>

#include <cstdint>
#include <ostream>
#include <span>

namespace rondo {

// How the values of an operand follow each other in global memory: those that meet in one result (along k),
// or those of one step of k, for adjacent rows of A or columns of B (across k).
enum class Order { k_major, mn_major };

// The last ones are of vector registers, for the CPU executor alone.
enum class TileId {
  k128x128,
  k256x56,
  k256x24,
  k64x64,
  kVectors128x128,
  kVectors128x64,
  kVectors128x32,
  kVectors64x64,
  kVectors192x128,
  kVectors192x64
};

// What the choice must know of a tile; tiles.cuh holds the types themselves.
struct TileFacts {
  TileId id;
  const char* name;
  bool vectors;
  int m, n, threads;
  int bytes_k_major, bytes_mn_major;  // shared memory of a block's k-tiles, by the order of A
  double efficiency;  // of the multiply-adds, relative to the best tile, when the tile is full
};
// Those that this build has, in the order of TileId: a GPU has no vectors.
std::span<const TileFacts> tile_facts();

// What an operation keeps in shared memory: k-tiles, and its own notes on each row of the tile.
struct SharedNeeds {
  Order order_a = Order::k_major;
  int bytes_per_row = 0;
};
constexpr int64_t shared_bytes(const TileFacts& tile, const SharedNeeds& needs) {
  return (needs.order_a == Order::k_major ? tile.bytes_k_major : tile.bytes_mn_major) +
         static_cast<int64_t>(tile.m) * needs.bytes_per_row;
}

struct DeviceFacts {
  int multiprocessors = 0;
  int shared_bytes_per_block = 0;  // the most that a block may ask for: 64 KB on sm_75, 227 KB on sm_90
  bool vectors = false;            // threads have vector registers: the CPU executor
};
// Of the current device.
Status device_facts(DeviceFacts* facts);

struct GemmConfig {
  TileId tile = TileId::k128x128;
  int64_t splits = 1;       // parts of the sum over k
  int64_t k_per_split = 0;  // the last part may be shorter
};
std::ostream& operator<<(std::ostream& out, const GemmConfig& config);

// Into how many parts the sum over k is cut. A function of the shape alone, since it decides the order of the
// additions: results must not depend on the machine.
GemmConfig split_k(const GemmShape& shape);

// Of the tiles whose blocks the device can hold, the one that finishes first: blocks of the busiest
// multiprocessor x the work of a block. The smallest tile, 64x64, where it can hold none.
TileId choose_tile(int64_t m, int64_t n, int64_t splits, const SharedNeeds& needs, const DeviceFacts& device);

GemmConfig choose_gemm_config(const GemmShape& shape, Order order_a, const DeviceFacts& device);

}  // namespace rondo
