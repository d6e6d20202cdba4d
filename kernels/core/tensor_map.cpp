#include <cuda_runtime_api.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/tensor_map.h>

#include <algorithm>
#include <atomic>
#include <string>

namespace rondo {
namespace {

// A function of the driver. Its library is not linked, because a program must start without a driver.
template <class Function>
struct DriverFunction {
  const char* symbol;
  std::atomic<Function> found = nullptr;

  Status find(const char* name, Function* function) {
    *function = found;
    if (*function) return {};
    void* address = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
    RONDO_CUDA(cudaGetDriverEntryPointByVersion(symbol, &address, 12000, cudaEnableDefault, &result));
    if (!address || result != cudaDriverEntryPointSuccess)
      return bad_argument(name, ": the driver has no ", symbol, "; CUDA 12.0 is needed");
    *function = reinterpret_cast<Function>(address);
    found = *function;
    return {};
  }
};

// Calls a function of the driver. Unlike the runtime, it binds no context to a thread that has none: one that
// has only called functions of the runtime that need none (cudaGetDevice(), attributes). The runtime's is
// bound then. One that the caller has made current stays.
template <class Function, class... Arguments>
Status call(const char* name, DriverFunction<Function>& driver, const Arguments&... arguments) {
  Function function = nullptr;
  RONDO_RETURN_IF_ERROR(driver.find(name, &function));
  CUresult result = function(arguments...);
  if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
    int device = 0;
    RONDO_CUDA(cudaGetDevice(&device));
    RONDO_CUDA(cudaSetDevice(device));
    result = function(arguments...);
  }
  if (result == CUDA_SUCCESS) return {};
  // An error has the same number in the runtime, where those of a failed device are known.
  return from_cuda(static_cast<cudaError_t>(result), concat(name, ": the driver refused the tensor map"));
}

constexpr CUtensorMapDataType data_type(DType dtype, bool round_to_tf32) {
  if (round_to_tf32) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  constexpr CUtensorMapDataType kTypes[] = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32,  CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
                                            CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                                            CU_TENSOR_MAP_DATA_TYPE_INT32,    CU_TENSOR_MAP_DATA_TYPE_INT64,
                                            CU_TENSOR_MAP_DATA_TYPE_UINT8};
  return kTypes[static_cast<int>(dtype)];
}

constexpr int span(Swizzle swizzle) { return swizzle == Swizzle::none ? 0 : 16 << static_cast<int>(swizzle); }

Status check_within(const char* name, const std::string& what, int64_t value, int64_t least, int64_t most) {
  return value >= least && value <= most
             ? Status()
             : bad_argument(name, ": ", what, " is ", value, ", must be ", least, " to ", most);
}
Status check_multiple_of_16(const char* name, const std::string& what, int64_t value) {
  return value % 16 == 0 ? Status()
                         : bad_argument(name, ": ", what, " is ", value, ", must be a multiple of 16");
}
std::string index(int d) { return concat("[", d, "]"); }

// What both modes require of the tensor. `row`: the member of the shape with the innermost elements of a
// copy.
template <class Shape>
Status check_tensor(const char* name, const Shape& shape, int least_rank, const char* row, int row_elements) {
  RONDO_RETURN_IF_ERROR(check_within(name, "rank", shape.rank, least_rank, 5));
  if (!shape.data) return bad_argument(name, ": data is null");
  if (shape.round_to_tf32 && shape.dtype != DType::float32)
    return bad_argument(name, ": round_to_tf32 needs elements of float32, and they are ",
                        name_of(shape.dtype));
  RONDO_RETURN_IF_ERROR(
      check_multiple_of_16(name, "data", static_cast<int64_t>(reinterpret_cast<uintptr_t>(shape.data))));
  for (int d = 0; d < shape.rank; ++d) {
    RONDO_RETURN_IF_ERROR(check_within(name, "size" + index(d), shape.size[d], 1, int64_t{1} << 32));
    if (d == 0) continue;
    RONDO_RETURN_IF_ERROR(
        check_within(name, "stride" + index(d), shape.stride[d], 0, (int64_t{1} << 40) - 1));
    RONDO_RETURN_IF_ERROR(check_multiple_of_16(name, "stride" + index(d), shape.stride[d]));
  }
  const int64_t row_bytes = row_elements * size_of(shape.dtype);
  RONDO_RETURN_IF_ERROR(check_multiple_of_16(name, concat("the bytes of ", row), row_bytes));
  if (shape.swizzle != Swizzle::none && row_bytes != span(shape.swizzle))
    return bad_argument(name, ": ", row, " has ", counted(row_bytes, "byte"), ", must have the ",
                        span(shape.swizzle), " of the swizzle");
  return {};
}

// Sizes and strides as the driver takes them.
struct Extents {
  cuuint64_t sizes[5], strides[5];

  template <class Shape>
  explicit Extents(const Shape& shape) {
    for (int d = 0; d < shape.rank; ++d) {
      sizes[d] = static_cast<cuuint64_t>(shape.size[d]);
      if (d > 0) strides[d - 1] = static_cast<cuuint64_t>(shape.stride[d]);
    }
  }
};

}  // namespace

int64_t box_bytes(const TensorMapShape& shape) {
  int64_t bytes = size_of(shape.dtype);
  for (int d = 0; d < shape.rank; ++d) bytes *= (shape.box[d] + shape.step[d] - 1) / shape.step[d];
  return bytes;
}
int64_t box_bytes(const Im2colMapShape& shape) {
  return size_of(shape.dtype) * shape.channels * shape.pixels;
}

Status make_tensor_map(CUtensorMap* map, const TensorMapShape& shape) {
  constexpr const char* kName = "make_tensor_map";
  RONDO_RETURN_IF_ERROR(check_tensor(kName, shape, 1, "box[0]", shape.box[0]));
  cuuint32_t box[5], steps[5];
  for (int d = 0; d < shape.rank; ++d) {
    RONDO_RETURN_IF_ERROR(check_within(kName, "box" + index(d), shape.box[d], 1, 256));
    RONDO_RETURN_IF_ERROR(check_within(kName, "step" + index(d), shape.step[d], 1, d == 0 ? 1 : 8));
    box[d] = static_cast<cuuint32_t>(shape.box[d]);
    steps[d] = static_cast<cuuint32_t>(shape.step[d]);
  }
  static DriverFunction<decltype(&cuTensorMapEncodeTiled)> encode = {"cuTensorMapEncodeTiled"};
  const Extents extents(shape);
  return call(kName, encode, map, data_type(shape.dtype, shape.round_to_tf32),
              static_cast<cuuint32_t>(shape.rank), const_cast<void*>(shape.data), extents.sizes,
              extents.strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
              static_cast<CUtensorMapSwizzle>(shape.swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

Status make_im2col_map(CUtensorMap* map, const Im2colMapShape& shape) {
  constexpr const char* kName = "make_im2col_map";
  RONDO_RETURN_IF_ERROR(check_within(kName, "channels", shape.channels, 1, 256));
  RONDO_RETURN_IF_ERROR(check_within(kName, "pixels", shape.pixels, 1, 1024));
  RONDO_RETURN_IF_ERROR(check_tensor(kName, shape, 3, "channels", shape.channels));
  const int corner = shape.rank == 3 ? 1 << 15 : shape.rank == 4 ? 1 << 7 : 1 << 4;
  cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  for (int d = 0; d < shape.rank - 2; ++d) {
    RONDO_RETURN_IF_ERROR(check_within(kName, "lower" + index(d), shape.lower[d], -corner, corner - 1));
    RONDO_RETURN_IF_ERROR(check_within(kName, "upper" + index(d), shape.upper[d], -corner, corner - 1));
    RONDO_RETURN_IF_ERROR(check_within(kName, "step" + index(d), shape.step[d], 1, 8));
    if (shape.size[d + 1] + shape.upper[d] <= shape.lower[d])
      return bad_argument(kName, ": the bounding box is empty along ", d);
    steps[d + 1] = static_cast<cuuint32_t>(shape.step[d]);
  }
  static DriverFunction<decltype(&cuTensorMapEncodeIm2col)> encode = {"cuTensorMapEncodeIm2col"};
  const Extents extents(shape);
  return call(kName, encode, map, data_type(shape.dtype, shape.round_to_tf32),
              static_cast<cuuint32_t>(shape.rank), const_cast<void*>(shape.data), extents.sizes,
              extents.strides, shape.lower, shape.upper, static_cast<cuuint32_t>(shape.channels),
              static_cast<cuuint32_t>(shape.pixels), steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
              static_cast<CUtensorMapSwizzle>(shape.swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace rondo
