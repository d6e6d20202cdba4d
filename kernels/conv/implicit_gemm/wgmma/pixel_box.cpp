#include <rondo/kernels/conv/implicit_gemm/wgmma/pixel_box.h>

namespace rondo {

PixelBox choose_pixel_box(int pixels, int pixels_w, int pixels_h, int images) {
  PixelBox best;
  int64_t fewest = INT64_MAX;
  for (int w = kLongestBoxSide; w >= 1; w /= 2)
    for (int h = kLongestBoxSide; h >= 1; h /= 2) {
      if (w * h > pixels) continue;
      const PixelBox box = {w, h, pixels / (w * h)};
      const int64_t boxes = BoxGrid(box, pixels_w, pixels_h, images).size();
      if (boxes >= fewest) continue;
      fewest = boxes;
      best = box;
    }
  return best;
}

}  // namespace rondo
