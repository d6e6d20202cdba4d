#include <rondo/kernels/conv/winograd/winograd.h>

#include <algorithm>

namespace rondo::winograd {
namespace {

// The number of taps inside the image, summed over the outputs along one axis.
int64_t visible_taps(int size, int outputs, int pad) {
  int64_t visible = 0;
  for (int output = 0; output < outputs; ++output)
    visible += std::min(output - pad + 3, size) - std::max(output - pad, 0);
  return visible;
}

}  // namespace

TileKind tile_kind(const DeviceProperties& device) {
  const auto fits = [&](TileKind kind) { return shared_bytes(kind) <= device.shared_bytes_per_block; };
  if (device.vectors && fits(TileKind::vectors)) return TileKind::vectors;
  return fits(TileKind::gpu) ? TileKind::gpu : TileKind::small_gpu;
}

bool fits(const ConvGeometry& g) {
  return g.r == 3 && g.s == 3 && g.stride_h == 1 && g.stride_w == 1 && g.pad_h <= 2 && g.pad_w <= 2 &&
         g.dilation_h == 1 && g.dilation_w == 1 && g.groups == 1 && g.c > 0 && g.k > 0 && g.c % 16 == 0 &&
         g.k % 16 == 0;
}

bool pays(const ConvGeometry& g) {
  constexpr int kFewestChannels = 32;  // with fewer channels the transforms cost more than they save
  if (!fits(g) || g.c < kFewestChannels || g.k < kFewestChannels) return false;
  const int64_t direct = visible_taps(g.h, g.p, g.pad_h) * visible_taps(g.w, g.q, g.pad_w);
  const int64_t tiles = static_cast<int64_t>((g.p + 1) / 2) * ((g.q + 1) / 2);
  return direct >= 20 * tiles;  // a tile has 16 products, plus a quarter for the transforms
}

}  // namespace rondo::winograd
