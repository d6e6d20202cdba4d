// The algorithms of a convolution that `rondo profile conv --algorithm` names.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/tools/rondo/profile/arguments.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

// The tiles of the implicit GEMM by mma.sync; none: the library chooses, also between its algorithms.
struct ConvTiles {
  std::optional<ConvTile> forward, data_gradient;
  std::optional<TileId> filter_gradient;
};
struct ConvKernels {
  std::string name;
  Conv2dOptions options;
  ConvTiles tiles;
  int64_t filter_gradient_bytes = 0;  // of workspace, if a tile is given
};

// One algorithm, or with `all` each that can compute this convolution. Throws a bad_argument Error if the
// algorithm cannot. Choosing between automatic, direct and winograd is left to the library.
std::vector<ConvKernels> conv_kernels(const ProfileArguments& a, const ImageView<const float>& x,
                                      const ImageView<const float>& y, const FilterView<const float>& filter);

}  // namespace rondo::program
