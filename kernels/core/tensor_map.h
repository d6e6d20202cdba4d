// Tensor maps: descriptions of tensors in device memory for the copies of ptx/bulk_copy.cuh. A kernel takes
// one as a parameter `const __grid_constant__ CUtensorMap`. Needs compute capability 9.0.
#pragma once

#include <cuda.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

// The bytes of a row of a box, in shared memory. Within 256, 512 or 1024 bytes, groups of 16 bytes are
// exchanged so that reads of a column have no bank conflicts: bits 4 and up of the address are exclusive-or'd
// with the bits 7 and up; one bit, two or three.
enum class Swizzle { none, bytes32, bytes64, bytes128 };

// All dimensions are listed from the innermost one, whose elements are contiguous.
struct TensorMapShape {
  const void* data = nullptr;  // a multiple of 16
  DType dtype = DType::float32;
  int rank = 1;                   // 1 to 5
  int64_t size[5] = {};           // elements, 1 to 2^32
  int64_t stride[5] = {};         // bytes, multiples of 16 below 2^40; stride[0] is not used
  int box[5] = {};                // elements that one copy covers, 1 to 256
  int step[5] = {1, 1, 1, 1, 1};  // of every so many elements of the box one is copied, 1 to 8; step[0] is 1
  // box[0] elements are a multiple of 16 bytes, and with a swizzle its bytes.
  Swizzle swizzle = Swizzle::none;
  // float32 only: loads round each element to nearest, to a tf32, ties to even (to_tf32() of ptx/tf32.cuh:
  // away from zero); infinity and NaN stay.
  bool round_to_tf32 = false;
};

Status make_tensor_map(CUtensorMap* map, const TensorMapShape& shape);

// Images NWC, NHWC or NDHWC, whose copies are the columns of a convolution's matrix (im2col): channels of
// consecutive pixels, which continue in the next row and in the next image. A copy names the filter's base,
// a position in the bounding box, and the offset of a tap, and writes zeros for what is outside of the image.
//
// Dimensions are listed as above: channels, W, H, D, images. Those of pixels are W, H, D.
struct Im2colMapShape {
  const void* data = nullptr;  // a multiple of 16
  DType dtype = DType::float32;
  int rank = 4;            // 3 to 5
  int64_t size[5] = {};    // elements, 1 to 2^32
  int64_t stride[5] = {};  // bytes, multiples of 16 below 2^40; stride[0] is not used
  // The bounding box: from the first pixel of an image plus `lower` to its last pixel plus `upper`. 16 bits
  // with rank 3, 8 with rank 4, 5 with rank 5; signed.
  int lower[3] = {}, upper[3] = {};
  int step[3] = {1, 1, 1};  // from one base to the next, 1 to 8
  int channels = 0;         // of a pixel, 1 to 256: a multiple of 16 bytes, and with a swizzle its bytes
  int pixels = 0;           // of a column, 1 to 1024
  Swizzle swizzle = Swizzle::none;
  bool round_to_tf32 = false;  // as above
};

Status make_im2col_map(CUtensorMap* map, const Im2colMapShape& shape);

// The bytes that a copy of the box or column adds to an mbarrier, also where it is partly outside of the
// tensor.
int64_t box_bytes(const TensorMapShape& shape);
int64_t box_bytes(const Im2colMapShape& shape);

}  // namespace rondo
