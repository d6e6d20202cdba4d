// The tile properties for gemm_config.cpp, which is plain C++.
#include <rondo/kernels/gemm/tiles.cuh>

namespace rondo {
namespace {

template <class Tile>
constexpr TileInfo info_of(TileId id, const char* name, double efficiency) {
  return {id,
          name,
          dtype_of<typename Tile::Element>,
          Tile::kMath,
          Tile::kVectors,
          Tile::kM,
          Tile::kN,
          Tile::kThreads,
          static_cast<int>(sizeof(TileShared<Tile, Order::k_major>)),
          static_cast<int>(sizeof(TileShared<Tile, Order::mn_major>)),
          efficiency};
}

constexpr TileInfo kInfos[] = {
    info_of<Tile128x128>(TileId::k128x128, "128x128", 1.00),
    info_of<Tile256x56>(TileId::k256x56, "256x56", 0.95),
    info_of<Tile256x24>(TileId::k256x24, "256x24", 0.80),
    info_of<Tile64x64>(TileId::k64x64, "64x64", 0.75),
    info_of<TensorTile128x128<Tf32Product>>(TileId::kTf32Of128x128, "128x128 tf32", 1.00),
    info_of<TensorTile64x64<Tf32Product>>(TileId::kTf32Of64x64, "64x64 tf32", 0.60),
    info_of<TensorTile128x128<Tf32x3Product>>(TileId::kTf32x3Of128x128, "128x128 tf32x3", 1.00),
    info_of<TensorTile64x64<Tf32x3Product>>(TileId::kTf32x3Of64x64, "64x64 tf32x3", 0.75),
    info_of<TensorTile128x128<NarrowProduct<__nv_bfloat16>>>(TileId::kBf16Of128x128, "128x128 bf16", 1.00),
    info_of<TensorTile64x64<NarrowProduct<__nv_bfloat16>>>(TileId::kBf16Of64x64, "64x64 bf16", 0.60),
    info_of<TensorTile128x128<NarrowProduct<__half>>>(TileId::kFp16Of128x128, "128x128 fp16", 1.00),
    info_of<TensorTile64x64<NarrowProduct<__half>>>(TileId::kFp16Of64x64, "64x64 fp16", 0.60),
    info_of<VectorTile<128, 128>>(TileId::kVectors128x128, "128x128v", 0.92),
    info_of<VectorTile<128, 64>>(TileId::kVectors128x64, "128x64v", 0.88),
    info_of<VectorTile<128, 32>>(TileId::kVectors128x32, "128x32v", 0.74),
    info_of<VectorTile<64, 64>>(TileId::kVectors64x64, "64x64v", 0.78),
    info_of<TallVectorTile<192, 128>>(TileId::kVectors192x128, "192x128v", 1.00),
    info_of<TallVectorTile<192, 64>>(TileId::kVectors192x64, "192x64v", 0.95),
};
constexpr size_t kForGpus = 12;

}  // namespace

std::span<const TileInfo> tile_infos() {
  return std::span(kInfos).first(kVectorTiles ? std::size(kInfos) : kForGpus);
}

}  // namespace rondo
