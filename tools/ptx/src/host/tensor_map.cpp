// cuTensorMapEncodeTiled() and cuTensorMapEncodeIm2col() for the interpreter: the rules of the CUDA driver
// API's documentation, and the content that ../device reads.
#include <cstring>

#include "../device/interpreter.h"
#include "device_half.h"

namespace {

constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;

uint32_t bytes_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 4;
  }
}

bool is_float(CUtensorMapDataType type) { return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16; }

// What both modes have.
struct Arguments {
  const CUtensorMap* map;
  CUtensorMapDataType type;
  cuuint32_t rank;
  const void* address;
  const cuuint64_t *sizes, *strides;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

CUresult check(const Arguments& a, cuuint32_t least_rank) {
  if (!a.map || reinterpret_cast<uintptr_t>(a.map) % 64 != 0 || !a.sizes || !a.element_strides)
    return kInvalid;
  // The packed types of later architectures are not known here.
  if (a.type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return CUDA_ERROR_NOT_SUPPORTED;
  if (a.interleave > CU_TENSOR_MAP_INTERLEAVE_32B || a.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return kInvalid;
  if (a.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || a.swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (a.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) return kInvalid;
  if (a.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float(a.type)) return kInvalid;
  if (a.rank < least_rank || a.rank > 5 || (a.rank > 1 && !a.strides)) return kInvalid;
  if (!a.address || reinterpret_cast<uintptr_t>(a.address) % 16 != 0) return kInvalid;
  for (cuuint32_t d = 0; d < a.rank; ++d) {
    if (a.sizes[d] == 0 || a.sizes[d] > uint64_t{1} << 32) return kInvalid;
    if (a.element_strides[d] == 0 || a.element_strides[d] > 8) return kInvalid;
    if (d > 0 && (a.strides[d - 1] % 16 != 0 || a.strides[d - 1] >= uint64_t{1} << 40)) return kInvalid;
  }
  return CUDA_SUCCESS;
}

// The bytes of a row in shared memory are a multiple of 16 and fit the swizzle.
bool row_fits(const Arguments& a, uint64_t elements) {
  const uint64_t bytes = elements * bytes_of(a.type);
  const uint64_t span = a.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? bytes : 16u << a.swizzle;
  return bytes % 16 == 0 && bytes <= span;
}

ptx::TensorMap content(const Arguments& a) {
  ptx::TensorMap map = {};
  map.magic = ptx::kTensorMapMagic;
  map.data = reinterpret_cast<uint64_t>(a.address);
  map.rank = static_cast<uint8_t>(a.rank);
  map.type = static_cast<uint8_t>(a.type);
  map.swizzle = static_cast<uint8_t>(a.swizzle);
  map.interleave = static_cast<uint8_t>(a.interleave);
  map.nan_fill = static_cast<uint8_t>(a.fill);
  for (cuuint32_t d = 0; d < a.rank; ++d) {
    map.size[d] = static_cast<uint32_t>(a.sizes[d] - 1);
    map.step[d] = static_cast<uint8_t>(d == 0 ? 1 : a.element_strides[d]);  // the first is ignored
    if (d > 0) map.stride[d - 1] = a.strides[d - 1];
  }
  return map;
}

void put(const ptx::TensorMap& content, CUtensorMap* map) {
  std::memset(static_cast<void*>(map), 0, sizeof(*map));
  std::memcpy(static_cast<void*>(map), &content, sizeof(content));
}

// The bits that an im2col map has for the corners of the bounding box.
constexpr int corner_bits(cuuint32_t rank) { return rank == 3 ? 16 : rank == 4 ? 8 : 5; }

bool corner_fits(int corner, cuuint32_t rank) {
  const int limit = 1 << (corner_bits(rank) - 1);
  return corner >= -limit && corner < limit;
}

}  // namespace

namespace simt {

CUresult encode_tiled_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                          const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                          const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                          CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                          CUtensorMapFloatOOBfill fill) {
  const Arguments a = {map,        type,    rank,      address, sizes, strides, element_strides,
                       interleave, swizzle, promotion, fill};
  if (const CUresult error = check(a, 1); error != CUDA_SUCCESS) return error;
  if (!box) return kInvalid;
  ptx::TensorMap made = content(a);
  for (cuuint32_t d = 0; d < rank; ++d) {
    if (box[d] == 0 || box[d] > 256) return kInvalid;
    made.box[d] = static_cast<uint16_t>(box[d]);
  }
  if (!row_fits(a, box[0])) return kInvalid;
  put(made, map);
  return CUDA_SUCCESS;
}

CUresult encode_im2col_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower_corner,
                           const int* upper_corner, cuuint32_t channels_per_pixel,
                           cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const Arguments a = {map,        type,    rank,      address, sizes, strides, element_strides,
                       interleave, swizzle, promotion, fill};
  if (const CUresult error = check(a, 3); error != CUDA_SUCCESS) return error;
  if (!lower_corner || !upper_corner) return kInvalid;
  if (channels_per_pixel == 0 || channels_per_pixel > 256 || pixels_per_column == 0 ||
      pixels_per_column > 1024)
    return kInvalid;
  ptx::TensorMap made = content(a);
  made.im2col = 1;
  made.channels = static_cast<uint16_t>(channels_per_pixel);
  made.pixels = static_cast<uint16_t>(pixels_per_column);
  for (cuuint32_t d = 0; d + 2 < rank; ++d) {
    if (!corner_fits(lower_corner[d], rank) || !corner_fits(upper_corner[d], rank)) return kInvalid;
    made.lower[d] = static_cast<int16_t>(lower_corner[d]);
    made.upper[d] = static_cast<int16_t>(upper_corner[d]);
  }
  if (!row_fits(a, channels_per_pixel)) return kInvalid;
  put(made, map);
  return CUDA_SUCCESS;
}

}  // namespace simt
