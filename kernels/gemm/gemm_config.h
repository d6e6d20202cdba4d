// How a product is cut into blocks: pure functions of its shape and of the device, which can be printed and
// tested without a device. The kernel never decides; these functions never launch.
#pragma once

#include <rondo/kernels/gemm/gemm.h>

#include <ostream>
#include <span>

namespace rondo {

enum class TileId { k128x128, k256x56, k256x24, k64x64 };

// What the choice must know of a tile; tiles.cuh holds the types themselves and checks that they agree.
struct TileFacts {
  TileId id;
  const char* name;
  int m, n, threads;
  double efficiency;  // of the multiply-adds, relative to the best tile, when the tile is full
};
std::span<const TileFacts> tile_facts();

struct DeviceFacts {
  int multiprocessors = 0;
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

// The tile whose blocks finish first: blocks of the busiest multiprocessor x the work of a block.
TileId choose_tile(int64_t m, int64_t n, int64_t splits, const DeviceFacts& device);

GemmConfig choose_gemm_config(const GemmShape& shape, const DeviceFacts& device);

}  // namespace rondo
