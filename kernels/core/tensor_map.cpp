#include <cuda_runtime_api.h>

#include <rondo/kernels/core/tensor_map.h>

#include <algorithm>
#include <string>

namespace rondo {
namespace {

constexpr const char* kName = "make_tensor_map";

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's function. Its library is not linked, because a program must start without a driver.
Status find_encode(Encode* encode) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
  RONDO_CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                              &result));
  if (!function || result != cudaDriverEntryPointSuccess)
    return bad_argument(kName, ": the driver has no cuTensorMapEncodeTiled; CUDA 12.0 is needed");
  *encode = reinterpret_cast<Encode>(function);
  return {};
}

constexpr CUtensorMapDataType data_type(const TensorMapShape& shape) {
  if (shape.round_to_tf32) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  constexpr CUtensorMapDataType kTypes[] = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32,  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
                                            CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                            CU_TENSOR_MAP_DATA_TYPE_INT32,    CU_TENSOR_MAP_DATA_TYPE_INT64,
                                            CU_TENSOR_MAP_DATA_TYPE_UINT8};
  return kTypes[static_cast<int>(shape.dtype)];
}

constexpr int span(Swizzle swizzle) { return swizzle == Swizzle::none ? 0 : 16 << static_cast<int>(swizzle); }

Status check(const TensorMapShape& shape) {
  const auto within = [](const std::string& what, int64_t value, int64_t least, int64_t most) {
    return value >= least && value <= most
               ? Status()
               : bad_argument(kName, ": ", what, " is ", value, ", must be ", least, " to ", most);
  };
  const auto multiple_of_16 = [](const std::string& what, int64_t value) {
    return value % 16 == 0 ? Status()
                           : bad_argument(kName, ": ", what, " is ", value, ", must be a multiple of 16");
  };
  RONDO_RETURN_IF_ERROR(within("rank", shape.rank, 1, 5));
  if (!shape.data) return bad_argument(kName, ": data is null");
  if (shape.round_to_tf32 && shape.dtype != DType::float32)
    return bad_argument(kName, ": round_to_tf32 needs elements of float32, and they are ",
                        name_of(shape.dtype));
  RONDO_RETURN_IF_ERROR(
      multiple_of_16("data", static_cast<int64_t>(reinterpret_cast<uintptr_t>(shape.data))));
  for (int d = 0; d < shape.rank; ++d) {
    const std::string index = concat("[", d, "]");
    RONDO_RETURN_IF_ERROR(within("size" + index, shape.size[d], 1, int64_t{1} << 32));
    RONDO_RETURN_IF_ERROR(within("box" + index, shape.box[d], 1, 256));
    RONDO_RETURN_IF_ERROR(within("step" + index, shape.step[d], 1, d == 0 ? 1 : 8));
    if (d == 0) continue;
    RONDO_RETURN_IF_ERROR(within("stride" + index, shape.stride[d], 0, (int64_t{1} << 40) - 1));
    RONDO_RETURN_IF_ERROR(multiple_of_16("stride" + index, shape.stride[d]));
  }
  const int64_t row_bytes = shape.box[0] * size_of(shape.dtype);
  RONDO_RETURN_IF_ERROR(multiple_of_16("the bytes of box[0]", row_bytes));
  if (shape.swizzle != Swizzle::none && row_bytes != span(shape.swizzle))
    return bad_argument(kName, ": box[0] has ", row_bytes, " bytes, must have the ", span(shape.swizzle),
                        " of the swizzle");
  return {};
}

}  // namespace

int64_t box_bytes(const TensorMapShape& shape) {
  int64_t bytes = size_of(shape.dtype);
  for (int d = 0; d < shape.rank; ++d) bytes *= (shape.box[d] + shape.step[d] - 1) / shape.step[d];
  return bytes;
}

Status make_tensor_map(CUtensorMap* map, const TensorMapShape& shape) {
  RONDO_RETURN_IF_ERROR(check(shape));
  Encode encode = nullptr;
  RONDO_RETURN_IF_ERROR(find_encode(&encode));
  cuuint64_t sizes[5], strides[5];
  cuuint32_t box[5], steps[5];
  for (int d = 0; d < shape.rank; ++d) {
    sizes[d] = static_cast<cuuint64_t>(shape.size[d]);
    box[d] = static_cast<cuuint32_t>(shape.box[d]);
    steps[d] = static_cast<cuuint32_t>(shape.step[d]);
    if (d > 0) strides[d - 1] = static_cast<cuuint64_t>(shape.stride[d]);
  }
  const CUresult result = encode(
      map, data_type(shape), static_cast<cuuint32_t>(shape.rank), const_cast<void*>(shape.data), sizes,
      strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, static_cast<CUtensorMapSwizzle>(shape.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    return bad_argument(kName, ": the driver refused the tensor map with CUresult ",
                        static_cast<int>(result));
  return {};
}

}  // namespace rondo
