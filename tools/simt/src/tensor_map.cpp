#include "tensor_map.h"

#include <algorithm>
#include <cstring>
#include <string>

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

struct Walk {
  const TensorMap& map;
  const int* at;
  size_t shared;  // not swizzled, of the next part
  void (*part)(void*, const BoxPart&);
  void* user;

  // One row: the elements of dimension 0. Its stride is always one element.
  void row(char* address, bool inside) {
    const int64_t size = int64_t{map.last[0]} + 1, first = at[0];
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
      const int64_t position = int64_t{at[d]} + i * map.element_strides[d];
      const bool valid = position >= 0 && position <= int64_t{map.last[d]};
      dimension(d - 1, inside && valid ? address + position * static_cast<int64_t>(map.strides[d]) : address,
                inside && valid);
    }
  }
};

}  // namespace

unsigned TensorMap::box_bytes() const {
  unsigned bytes = element_bytes;
  for (int d = 0; d < rank; ++d) bytes *= static_cast<unsigned>(d == 0 ? box[0] : elements(d));
  return bytes;
}

const TensorMap& checked_map(const char* instruction, const CUtensorMap* map, int rank, const Place& place) {
  const TensorMap& content = *reinterpret_cast<const TensorMap*>(map);
  const auto fail = [&](const auto& what) {
    running_block(instruction).fail(cudaErrorLaunchFailure, [&] {
      return std::string(instruction) + " at " + text(place) + ": " + what();
    });
  };
  if (content.magic != TensorMap::kMagic)
    fail([] { return std::string("the tensor map was not made by cuTensorMapEncodeTiled"); });
  if (content.rank != rank)
    fail([&] {
      return std::to_string(rank) + " coordinates for a tensor map of " + std::to_string(content.rank) +
             " dimensions";
    });
  // CUDA allows it, with rows that are the span apart; the executor does not have it.
  if (content.swizzle_span != 0 && content.box[0] * content.element_bytes != content.swizzle_span)
    fail([&] {
      return "the executor needs rows of the swizzle's " + std::to_string(content.swizzle_span) +
             " bytes; the map's box has " + std::to_string(content.box[0] * content.element_bytes);
    });
  return content;
}

void for_each_part(const TensorMap& map, const int* at, size_t shared_begin,
                   void (*part)(void*, const BoxPart&), void* user) {
  Walk{map, at, shared_begin, part, user}.dimension(map.rank - 1, map.address, true);
}

}  // namespace simt

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  using simt::TensorMap;
  constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;
  if (!map || reinterpret_cast<uintptr_t>(map) % 64 != 0 || !sizes || !box || !element_strides)
    return kInvalid;
  if (type < 0 || type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return kInvalid;
  if (interleave < 0 || interleave > CU_TENSOR_MAP_INTERLEAVE_32B) return kInvalid;
  if (swizzle < 0 || swizzle > CU_TENSOR_MAP_SWIZZLE_128B) return kInvalid;
  if (promotion < 0 || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) return kInvalid;
  if (fill < 0 || fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) return kInvalid;
  if (rank < 1 || rank > TensorMap::kMostRank || (rank > 1 && !strides)) return kInvalid;
  const unsigned element_bytes = simt::bytes_of(type);
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || element_bytes == 0 ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;

  TensorMap content = {};
  content.magic = TensorMap::kMagic;
  content.rank = static_cast<uint8_t>(rank);
  content.element_bytes = static_cast<uint8_t>(element_bytes);
  content.rounds_to_tf32 = type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  content.swizzle_span = static_cast<uint8_t>(swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16 << swizzle);
  content.address = static_cast<char*>(address);
  content.strides[0] = element_bytes;
  if (!address || reinterpret_cast<uintptr_t>(address) % 16 != 0) return kInvalid;
  for (cuuint32_t d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || sizes[d] > uint64_t{1} << 32) return kInvalid;
    if (box[d] == 0 || box[d] > 256) return kInvalid;
    if (element_strides[d] == 0 || element_strides[d] > 8) return kInvalid;
    content.last[d] = static_cast<uint32_t>(sizes[d] - 1);
    content.box[d] = static_cast<uint16_t>(box[d]);
    content.element_strides[d] =
        static_cast<uint8_t>(d == 0 ? 1 : element_strides[d]);  // CUDA ignores the first
    if (d == 0) continue;
    if (strides[d - 1] % 16 != 0 || strides[d - 1] >= uint64_t{1} << 40) return kInvalid;
    content.strides[d] = strides[d - 1];
  }
  const unsigned row_bytes = box[0] * element_bytes;
  if (row_bytes % 16 != 0 || (content.swizzle_span != 0 && row_bytes > content.swizzle_span)) return kInvalid;
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &content, sizeof(content));
  return CUDA_SUCCESS;
}
