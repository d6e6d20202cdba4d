#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sums.h"

using rondo::stand_in::Arithmetic;
using rondo::stand_in::Matrix;

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace {

// The combinations of types that cublasGemmEx() documents for sums in float, without those that the stand-in
// does not compute.
std::optional<Arithmetic> arithmetic(cudaDataType a, cudaDataType b, cudaDataType c,
                                     cublasComputeType_t compute) {
  if (a != b || a != c) return std::nullopt;
  const bool is_plain = compute == CUBLAS_COMPUTE_32F;
  if (a == CUDA_R_32F && is_plain) return Arithmetic::fp32;
  if (a == CUDA_R_32F && compute == CUBLAS_COMPUTE_32F_FAST_TF32) return Arithmetic::tf32;
  if (a == CUDA_R_16BF && is_plain) return Arithmetic::bf16;
  if (a == CUDA_R_16F && is_plain) return Arithmetic::fp16;
  return std::nullopt;
}

// op(matrix), where the stored matrix is column-major.
Matrix transposed_if(cublasOperation_t operation, const void* data, int ld) {
  void* const elements = const_cast<void*>(data);
  return operation == CUBLAS_OP_N ? Matrix{elements, 1, ld} : Matrix{elements, ld, 1};
}

}  // namespace

// Also in C, because another signature than that of the header is then an error and not an overload.
extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  *version = 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, size_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool is_aligned = reinterpret_cast<uintptr_t>(workspace) % 256 == 0;
  return is_aligned ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "unknown";
  }
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                            int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                            const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute_type,
                            cublasGemmAlgo_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int a_rows = transa == CUBLAS_OP_N ? m : k, b_rows = transb == CUBLAS_OP_N ? k : n;
  if (m < 0 || n < 0 || k < 0 || lda < std::max(1, a_rows) || ldb < std::max(1, b_rows) ||
      ldc < std::max(1, m) || !alpha || !beta || !a || !b || !c)
    return CUBLAS_STATUS_INVALID_VALUE;
  const std::optional<Arithmetic> found = arithmetic(a_type, b_type, c_type, compute_type);
  if (!found) return CUBLAS_STATUS_NOT_SUPPORTED;
  const rondo::Status enqueued =
      enqueue(*found,
              rondo::stand_in::MatrixProduct{
                  m, n, k, transposed_if(transa, a, lda), transposed_if(transb, b, ldb), Matrix{c, 1, ldc},
                  *static_cast<const float*>(alpha), *static_cast<const float*>(beta)},
              handle->stream);
  return enqueued.ok() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
