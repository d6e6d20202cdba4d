// The table of the tiles of convolutions by wgmma, from their types.
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.cuh>

#include <array>

namespace rondo {
namespace {

template <Arithmetic kArithmetic>
std::span<const WgmmaConvTile> tiles_of() {
  static const auto kTiles = std::apply(
      []<class... Rows>(const Rows&... row) {
        return std::array<WgmmaConvTile, sizeof...(Rows)>{WgmmaConvTile{Rows::Tile::kId, row.efficiency}...};
      },
      kWgmmaConvTiles<kArithmetic>);
  return kTiles;
}

}  // namespace

std::span<const WgmmaConvTile> wgmma_conv_tiles(Arithmetic arithmetic) {
  if (!uses_tensor_cores(arithmetic)) return {};
  if (arithmetic == Arithmetic::tf32) return tiles_of<Arithmetic::tf32>();
  if (arithmetic == Arithmetic::tf32x3) return tiles_of<Arithmetic::tf32x3>();
  return arithmetic == Arithmetic::bf16 ? tiles_of<Arithmetic::bf16>() : tiles_of<Arithmetic::fp16>();
}

}  // namespace rondo
