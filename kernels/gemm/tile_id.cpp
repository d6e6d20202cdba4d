#include <rondo/kernels/gemm/tile_id.h>

#include <rondo/kernels/core/text.h>

namespace rondo {

std::string name_of(const TileId& tile) {
  const std::string size = concat(tile.m / tile.cluster_blocks, "x", tile.n);
  switch (tile.instruction) {
    case Instruction::fma:
      break;
    case Instruction::vector_fma:
      return uses_tensor_cores(tile.arithmetic) ? concat(size, "v ", name_of(tile.arithmetic)) : size + "v";
    case Instruction::mma:
      return concat(size, " ", name_of(tile.arithmetic));
    case Instruction::wgmma:
      return tile.cluster_blocks > 1 ? concat(tile.cluster_blocks, " of ", size) : size;
  }
  return size;
}

std::ostream& operator<<(std::ostream& out, const TileId& tile) { return out << name_of(tile); }

}  // namespace rondo
