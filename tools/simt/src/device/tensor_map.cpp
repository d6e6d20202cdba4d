#include "tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "../base/device_half.h"
#include "../base/text.h"
#include "block.h"

namespace simt {
namespace {

// Bytes of an element; 0 for a type that the executor does not have.
unsigned bytes_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
      return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 0;
  }
}

// Of the corners of a bounding box, and of the offsets of an instruction.
constexpr int im2col_bits(cuuint32_t rank) { return rank == 3 ? 16 : rank == 4 ? 8 : 5; }

constexpr const char* mode_name(bool im2col) { return im2col ? "im2col mode" : "tiled mode"; }

// `what` returns the text.
template <class What>
void fail_tensor_copy(const char* instruction, const Place& place, const What& what) {
  running_block(instruction).fail(cudaErrorLaunchFailure, [&] {
    return std::string(instruction) + " at " + text(place) + ": " + what();
  });
}

// The arguments that both modes have.
struct TensorArguments {
  const CUtensorMap* map;
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t *sizes, *strides;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

CUresult encode(const TensorArguments& a, cuuint32_t least_rank, TensorMap* map) {
  constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;
  if (!a.map || reinterpret_cast<uintptr_t>(a.map) % 64 != 0 || !a.sizes || !a.element_strides)
    return kInvalid;
  if (a.type < 0 || a.type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return kInvalid;
  if (a.interleave < 0 || a.interleave > CU_TENSOR_MAP_INTERLEAVE_32B) return kInvalid;
  if (a.swizzle < 0 || a.swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return kInvalid;
  if (a.promotion < 0 || a.promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) return kInvalid;
  if (a.fill < 0 || a.fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) return kInvalid;
  if (a.rank < least_rank || a.rank > TensorMap::kMostRank || (a.rank > 1 && !a.strides)) return kInvalid;
  const unsigned element_bytes = bytes_of(a.type);
  if (a.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || element_bytes == 0 ||
      a.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;

  *map = {};
  map->magic = TensorMap::kMagic;
  map->rank = static_cast<uint8_t>(a.rank);
  map->element_bytes = static_cast<uint8_t>(element_bytes);
  map->rounds_to_tf32 = a.type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  map->swizzle_span = static_cast<uint8_t>(a.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16 << a.swizzle);
  map->address = static_cast<char*>(a.address);
  map->strides[0] = element_bytes;
  if (!a.address || reinterpret_cast<uintptr_t>(a.address) % 16 != 0) return kInvalid;
  for (cuuint32_t d = 0; d < a.rank; ++d) {
    if (a.sizes[d] == 0 || a.sizes[d] > uint64_t{1} << 32) return kInvalid;
    if (a.element_strides[d] == 0 || a.element_strides[d] > 8) return kInvalid;
    map->last[d] = static_cast<uint32_t>(a.sizes[d] - 1);
    map->element_strides[d] =
        static_cast<uint8_t>(d == 0 ? 1 : a.element_strides[d]);  // CUDA ignores the first
    if (d == 0) continue;
    if (a.strides[d - 1] % 16 != 0 || a.strides[d - 1] >= uint64_t{1} << 40) return kInvalid;
    map->strides[d] = a.strides[d - 1];
  }
  return CUDA_SUCCESS;
}

void put(const TensorMap& content, CUtensorMap* map) {
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &content, sizeof(content));
}

struct Walk {
  const TensorMap& map;
  const BoxPosition& start;
  size_t shared;  // not swizzled, of the next part
  void (*part)(void*, const BoxPart&);
  void* user;

  // One row: the elements of dimension 0. Its stride is always one element.
  void row(char* address, bool inside) {
    const int64_t size = int64_t{map.last[0]} + 1, first = start.at[0];
    const unsigned bytes = map.box[0] * map.element_bytes;
    for (unsigned done = 0; done < bytes; done += 16) {
      const int64_t begin = first + done / map.element_bytes, end = begin + 16 / map.element_bytes;
      const int64_t from = std::max<int64_t>(begin, 0), to = std::min(end, size);
      BoxPart result{swizzled(shared + done, map.swizzle_span), nullptr, 0, 0, 16};
      if (inside && from < to) {
        result.global = address + from * map.element_bytes;
        result.skipped = static_cast<unsigned>(from - begin) * map.element_bytes;
        result.bytes = static_cast<unsigned>(to - from) * map.element_bytes;
      }
      part(user, result);
    }
    shared += bytes;
  }
  void dimension(int d, char* address, bool inside) {
    if (d == 0) return row(address, inside);
    for (int i = 0; i < map.elements(d); ++i) {
      const int64_t position = int64_t{start.at[d]} + i * map.element_strides[d];
      const bool valid = position >= 0 && position <= int64_t{map.last[d]};
      dimension(d - 1, inside && valid ? address + position * static_cast<int64_t>(map.strides[d]) : address,
                inside && valid);
    }
  }
  // im2col mode. The filter's base moves along W in steps of the element stride, at the end of the bounding
  // box to its next row, from there to the next image. A pixel is at the offset from it.
  void column() {
    const int images = map.rank - 1;  // the dimension
    int64_t base[TensorMap::kMostRank];
    std::copy_n(start.at, map.rank, base);
    for (int pixel = 0; pixel < map.pixels; ++pixel) {
      char* address = map.address;
      bool inside = true;
      for (int d = 1; d <= images; ++d) {
        const int64_t position = base[d] + (d < images ? start.offset[d - 1] : 0);
        inside = inside && position >= 0 && position <= int64_t{map.last[d]};
        if (inside) address += position * static_cast<int64_t>(map.strides[d]);
      }
      row(address, inside);
      for (int d = 1;; ++d) {
        base[d] += map.element_strides[d];
        if (d == images || base[d] <= map.last_base(d)) break;
        base[d] = map.first_base(d);
      }
    }
  }
};

}  // namespace

unsigned TensorMap::box_bytes() const {
  unsigned bytes = static_cast<unsigned>(box[0]) * element_bytes;
  if (im2col) return bytes * pixels;
  for (int d = 1; d < rank; ++d) bytes *= static_cast<unsigned>(elements(d));
  return bytes;
}

const TensorMap& checked_map(const char* instruction, const CUtensorMap* map, int rank, bool im2col,
                             const Place& place) {
  const TensorMap& content = *reinterpret_cast<const TensorMap*>(map);
  if (content.magic != TensorMap::kMagic)
    fail_tensor_copy(instruction, place, [] {
      return std::string("the tensor map was not made by cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col");
    });
  if (content.im2col != im2col)
    fail_tensor_copy(instruction, place, [&] {
      return std::string("the tensor map is of ") + mode_name(content.im2col) + ", the instruction of " +
             mode_name(im2col);
    });
  if (content.rank != rank)
    fail_tensor_copy(instruction, place, [&] {
      return counted(rank, "coordinate") + " for a tensor map of " + counted(content.rank, "dimension");
    });
  // CUDA allows it, with rows that are the span apart; the executor does not have it.
  if (content.swizzle_span != 0 && content.box[0] * content.element_bytes != content.swizzle_span)
    fail_tensor_copy(instruction, place, [&] {
      return "the executor needs rows of the swizzle's " + std::to_string(content.swizzle_span) +
             " bytes; the map's box has " + std::to_string(content.box[0] * content.element_bytes);
    });
  return content;
}

BoxPosition checked_base(const char* instruction, const TensorMap& map, const int* at, const int* offset,
                         const Place& place) {
  BoxPosition position = {};
  std::copy_n(at, map.rank, position.at);
  const int images = map.rank - 1, most_offset = (1 << im2col_bits(map.rank)) - 1;
  for (int d = 1; d < images; ++d) {
    const int64_t base = at[d], first = map.first_base(d), last = map.last_base(d);
    const int shift = offset[d - 1], step = map.element_strides[d];
    const auto refuse_base = [&](const auto& why) {
      fail_tensor_copy(instruction, place, [&] {
        return std::string("the filter's base along ") + "WHD"[d - 1] + " is " + std::to_string(base) + ", " +
               why();
      });
    };
    if (shift < 0 || shift > most_offset)
      fail_tensor_copy(instruction, place, [&] {
        return std::string("the im2col offset along ") + "WHD"[d - 1] + " is " + std::to_string(shift) +
               ", must be 0 to " + std::to_string(most_offset);
      });
    if (base < first || base > last)
      refuse_base([&] {
        return "outside of the bounding box from " + std::to_string(first) + " to " + std::to_string(last);
      });
    // CUDA does not say where the next row of the box begins then.
    if ((base - first) % step != 0)
      refuse_base([&] {
        return "not a multiple of the element stride " + std::to_string(step) + " from " +
               std::to_string(first) + ", where the bounding box begins";
      });
    position.offset[d - 1] = static_cast<uint16_t>(shift);
  }
  return position;
}

void for_each_part(const TensorMap& map, const BoxPosition& position, size_t shared_begin,
                   void (*part)(void*, const BoxPart&), void* user) {
  Walk walk{map, position, shared_begin, part, user};
  if (map.im2col)
    walk.column();
  else
    walk.dimension(map.rank - 1, map.address, true);
}

CUresult encode_tiled_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                          const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                          const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                          CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                          CUtensorMapFloatOOBfill fill) {
  TensorMap content;
  const TensorArguments tensor = {map,        type,    rank,      address, sizes, strides, element_strides,
                                  interleave, swizzle, promotion, fill};
  if (const CUresult error = encode(tensor, 1, &content); error != CUDA_SUCCESS) return error;
  if (!box) return CUDA_ERROR_INVALID_VALUE;
  for (cuuint32_t d = 0; d < rank; ++d) {
    if (box[d] == 0 || box[d] > 256) return CUDA_ERROR_INVALID_VALUE;
    content.box[d] = static_cast<uint16_t>(box[d]);
  }
  const unsigned row_bytes = box[0] * content.element_bytes;
  if (row_bytes % 16 != 0 || (content.swizzle_span != 0 && row_bytes > content.swizzle_span))
    return CUDA_ERROR_INVALID_VALUE;
  put(content, map);
  return CUDA_SUCCESS;
}

CUresult encode_im2col_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower_corner,
                           const int* upper_corner, cuuint32_t channels_per_pixel,
                           cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  TensorMap content;
  const TensorArguments tensor = {map,        type,    rank,      address, sizes, strides, element_strides,
                                  interleave, swizzle, promotion, fill};
  if (const CUresult error = encode(tensor, 3, &content); error != CUDA_SUCCESS) return error;
  if (!lower_corner || !upper_corner || channels_per_pixel == 0 || channels_per_pixel > 256 ||
      pixels_per_column == 0 || pixels_per_column > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  content.im2col = true;
  content.pixels = static_cast<uint16_t>(pixels_per_column);
  content.box[0] = static_cast<uint16_t>(channels_per_pixel);
  const int limit = 1 << (im2col_bits(rank) - 1);
  for (cuuint32_t i = 0; i < rank - 2; ++i) {
    for (const int corner : {lower_corner[i], upper_corner[i]})
      if (corner < -limit || corner >= limit) return CUDA_ERROR_INVALID_VALUE;
    content.lower[i] = static_cast<int16_t>(lower_corner[i]);
    content.upper[i] = static_cast<int16_t>(upper_corner[i]);
    const int dimension = static_cast<int>(i) + 1;
    if (content.first_base(dimension) > content.last_base(dimension)) return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned row_bytes = channels_per_pixel * content.element_bytes;
  if (content.swizzle_span != 0 && row_bytes > content.swizzle_span) return CUDA_ERROR_INVALID_VALUE;
  if (row_bytes % 16 != 0 || element_strides[rank - 1] != 1) return CUDA_ERROR_NOT_SUPPORTED;
  put(content, map);
  return CUDA_SUCCESS;
}

}  // namespace simt
