// How much of an image a window that moves over it covers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace rondo::bench {

// A window of `taps` rows, which are `dilation` apart, at `outputs` positions, which are `stride` apart. The
// first one begins `pad` rows before the image, which has `size` rows. The same for columns.
struct WindowPositions {
  int64_t size, taps, stride, pad, dilation, outputs;
};

// The number of rows of the image that are in at least one window. Those between the windows of a stride that
// is larger than them are in none.
inline int64_t covered(const WindowPositions& w) {
  const int64_t common = std::gcd(w.stride, w.dilation);
  // Tap r of position i is tap r + later of position i - earlier.
  const int64_t earlier = w.dilation / common, later = w.stride / common;
  int64_t rows = 0;
  for (int64_t r = 0; r < w.taps; ++r) {
    const int64_t before = w.pad - r * w.dilation;  // row i * stride - before is in the image from 0 to size
    const int64_t first = before <= 0 ? 0 : (before + w.stride - 1) / w.stride;
    const int64_t last_row = w.size - 1 + before;
    if (last_row < 0) continue;
    int64_t end = std::min(w.outputs, last_row / w.stride + 1);
    if (later < w.taps - r) end = std::min(end, earlier);  // the other rows were counted with the other tap
    rows += std::max<int64_t>(0, end - first);
  }
  return rows;
}

}  // namespace rondo::bench
