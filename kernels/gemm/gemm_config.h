// The division of a product into blocks: pure functions of its shape and of the device. The result can be
// printed, and tested without a device. These functions never launch, and the kernel makes no decisions.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/gemm/gemm.h>

#include <cstdint>
#include <ostream>
#include <span>

namespace rondo {

// The memory order of an operand. k_major: consecutive values along k are contiguous. mn_major: for each step
// of k, the values of adjacent rows of A or columns of B are contiguous.
enum class Order { k_major, mn_major };

// The kTf32, kTf32x3, kBf16 and kFp16 tiles use tensor cores. The kVectors tiles use vector registers and
// exist only on the CPU executor.
enum class TileId {
  k128x128,
  k256x56,
  k256x24,
  k64x64,
  kTf32Of128x128,
  kTf32Of64x64,
  kTf32x3Of128x128,
  kTf32x3Of64x64,
  kBf16Of128x128,
  kBf16Of64x64,
  kFp16Of128x128,
  kFp16Of64x64,
  kVectors128x128,
  kVectors128x64,
  kVectors128x32,
  kVectors64x64,
  kVectors192x128,
  kVectors192x64
};

// The properties of a tile that the choice depends on. tiles.cuh has the types.
struct TileInfo {
  TileId id;
  const char* name;
  DType type;  // of the factors
  Math math;
  bool vectors;
  int m, n, threads;
  int bytes_k_major, bytes_mn_major;  // shared memory of a block's k-tiles, for each order of A
  double efficiency;  // of the multiply-adds of a full tile, relative to the best tile of the same arithmetic
};
// The tiles of this build, in the order of TileId. A GPU build has no vector tiles.
std::span<const TileInfo> tile_infos();

// What an operation needs of a tile: its arithmetic, the k-tiles, and extra bytes for each row of the tile.
struct TileNeeds {
  Order order_a = Order::k_major;
  int bytes_per_row = 0;
  DType type = DType::float32;
  Math math = Math::fp32;
};
constexpr int64_t shared_bytes(const TileInfo& tile, const TileNeeds& needs) {
  return (needs.order_a == Order::k_major ? tile.bytes_k_major : tile.bytes_mn_major) +
         static_cast<int64_t>(tile.m) * needs.bytes_per_row;
}

struct DeviceProperties {
  int multiprocessors = 0;
  int shared_bytes_per_block = 0;  // maximum per block: 64 KB on sm_75, 227 KB on sm_90
  bool vectors = false;            // true on the CPU executor: threads have vector registers
  bool wgmma = false;              // compute capability 9.0 and a build for it; the executor: with SIMT_GPU
};
// Properties of the current device.
Status device_properties(DeviceProperties* properties);

struct GemmConfig {
  TileId tile = TileId::k128x128;
  int64_t splits = 1;       // number of parts of the sum over k
  int64_t k_per_split = 0;  // k per part; the last part may be shorter
};
std::ostream& operator<<(std::ostream& out, const GemmConfig& config);

// Splits the sum over k into parts. It depends only on the shape: the parts determine the order of the
// additions, and results must not depend on the device. `least_k`: the shortest part that pays for the second
// pass.
GemmConfig split_k(const GemmShape& shape, int64_t least_k = 256);

// Returns the tile with the least estimated time, among the tiles of needs.type and needs.math that fit the
// device's shared memory. The estimate is the number of blocks on the busiest multiprocessor times the work
// of a block. Returns the smallest tile, 64x64, if none fits.
TileId choose_tile(int64_t m, int64_t n, int64_t splits, const TileNeeds& needs,
                   const DeviceProperties& device);

GemmConfig choose_gemm_config(const GemmShape& shape, const TileNeeds& needs, const DeviceProperties& device);

}  // namespace rondo
