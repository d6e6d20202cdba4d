// The products and copies of cuBLAS, for programs that compare a kernel with them or have one beside their
// own. This is not cuBLAS: the functions are those below and in simt/cublas_copies.h, with its arguments and
// results, as plain kernels and copies of the executor. Matrices are in column-major order. Sums of fp32 and
// fp16 or bf16 factors are in fp32, of fp64 in fp64.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <library_types.h>

#include <algorithm>
#include <cstdint>

#define CUBLAS_V2_H_
#define CUBLAS_API_H_

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
};
#include <simt/cublas_copies.h>  // needs the statuses

enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
// The arithmetic is the same in all modes.
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};
using cublasHandle_t = cublasContext*;

namespace simt::blas {

template <class T>
struct Matrix {
  T* data;
  int64_t leading, batch;  // elements from a column, and from a matrix, to the next
  bool transposed;
};

// A thread computes kRows x kColumns elements of one product.
inline constexpr int kRows = 32, kColumns = 8, kDepth = 64;

template <class T, class Out, class Sum>
__global__ void product_kernel(int m, int n, int k, Sum alpha, Matrix<const T> a, Matrix<const T> b, Sum beta,
                               Matrix<Out> c) {
  const int row = static_cast<int>(blockIdx.x) * kRows, column = static_cast<int>(blockIdx.y) * kColumns;
  const int rows = std::min(kRows, m - row), columns = std::min(kColumns, n - column);
  const T* const first = a.data + a.batch * static_cast<int64_t>(blockIdx.z);
  const T* const second = b.data + b.batch * static_cast<int64_t>(blockIdx.z);
  Out* const result = c.data + c.batch * static_cast<int64_t>(blockIdx.z);
  Sum sums[kColumns][kRows] = {}, left[kDepth][kRows] = {}, right[kDepth][kColumns] = {};
  for (int begin = 0; begin < k; begin += kDepth) {
    const int depth = std::min(kDepth, k - begin);
    for (int p = 0; p < depth; ++p) {
      const int64_t at = begin + p;
      for (int i = 0; i < rows; ++i)
        left[p][i] =
            static_cast<Sum>(first[a.transposed ? at + (row + i) * a.leading : row + i + at * a.leading]);
      for (int j = 0; j < columns; ++j)
        right[p][j] = static_cast<Sum>(
            second[b.transposed ? column + j + at * b.leading : at + (column + j) * b.leading]);
    }
    for (int p = 0; p < depth; ++p)
      for (int j = 0; j < kColumns; ++j)
        for (int i = 0; i < kRows; ++i) sums[j][i] += left[p][i] * right[p][j];
  }
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) {
      Out& element = result[row + i + (column + j) * c.leading];
      const Sum old = beta == Sum{0} ? Sum{0} : beta * static_cast<Sum>(element);
      element = static_cast<Out>(alpha * sums[j][i] + old);
    }
}

template <class T, class Out, class Sum>
cublasStatus_t product(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                       int k, Sum alpha, const T* a, int lda, int64_t batch_a, const T* b, int ldb,
                       int64_t batch_b, Sum beta, Out* c, int ldc, int64_t batch_c, int count) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool transpose_a = op_a != CUBLAS_OP_N, transpose_b = op_b != CUBLAS_OP_N;
  if (m < 0 || n < 0 || k < 0 || count < 0 || lda < std::max(1, transpose_a ? k : m) ||
      ldb < std::max(1, transpose_b ? n : k) || ldc < std::max(1, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>((m + kRows - 1) / kRows),
                        static_cast<unsigned>((n + kColumns - 1) / kColumns), static_cast<unsigned>(count));
  config.blockDim = dim3(1);
  config.stream = handle->stream;
  const cudaError_t error = cudaLaunchKernelEx(
      &config, product_kernel<T, Out, Sum>, m, n, k, alpha, Matrix<const T>{a, lda, batch_a, transpose_a},
      Matrix<const T>{b, ldb, batch_b, transpose_b}, beta, Matrix<Out>{c, ldc, batch_c, false});
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

// alpha and beta are floats unless the compute type says otherwise.
template <class T, class Out>
cublasStatus_t product_of(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                          int k, const void* alpha, const void* a, int lda, int64_t batch_a, const void* b,
                          int ldb, int64_t batch_b, const void* beta, void* c, int ldc, int64_t batch_c,
                          int count, cublasComputeType_t compute) {
  const bool half = compute == CUBLAS_COMPUTE_16F;
  const auto scalar = [half](const void* value) {
    return half ? __half2float(*static_cast<const __half*>(value)) : *static_cast<const float*>(value);
  };
  return product(handle, op_a, op_b, m, n, k, scalar(alpha), static_cast<const T*>(a), lda, batch_a,
                 static_cast<const T*>(b), ldb, batch_b, scalar(beta), static_cast<Out*>(c), ldc, batch_c,
                 count);
}

}  // namespace simt::blas

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}
inline const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "the operation completed successfully";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    default:
      return "the function failed to launch";
  }
}

inline cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                                cublasOperation_t op_b, int m, int n, int k,
                                                const float* alpha, const float* a, int lda,
                                                long long batch_a, const float* b, int ldb, long long batch_b,
                                                const float* beta, float* c, int ldc, long long batch_c,
                                                int count) {
  return simt::blas::product(handle, op_a, op_b, m, n, k, *alpha, a, lda, batch_a, b, ldb, batch_b, *beta, c,
                             ldc, batch_c, count);
}
inline cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                  int m, int n, int k, const float* alpha, const float* a, int lda,
                                  const float* b, int ldb, const float* beta, float* c, int ldc) {
  return simt::blas::product(handle, op_a, op_b, m, n, k, *alpha, a, lda, 0, b, ldb, 0, *beta, c, ldc, 0, 1);
}
inline cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                  int m, int n, int k, const double* alpha, const double* a, int lda,
                                  const double* b, int ldb, const double* beta, double* c, int ldc) {
  return simt::blas::product(handle, op_a, op_b, m, n, k, *alpha, a, lda, 0, b, ldb, 0, *beta, c, ldc, 0, 1);
}

namespace simt::blas {
// y = alpha op(A) x + beta y, with the vectors as matrices that have one row.
template <class T>
cublasStatus_t vector_product(cublasHandle_t handle, cublasOperation_t op, int m, int n, T alpha, const T* a,
                              int lda, const T* x, int incx, T beta, T* y, int incy) {
  if (incx < 1 || incy < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool transposed = op != CUBLAS_OP_N;
  return product(handle, CUBLAS_OP_N, transposed ? CUBLAS_OP_N : CUBLAS_OP_T, 1, transposed ? n : m,
                 transposed ? m : n, alpha, x, incx, 0, a, lda, 0, beta, y, incy, 0, 1);
}
}  // namespace simt::blas

// The distance from an element of x and y to the next is positive.
inline cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,
                                  const float* alpha, const float* a, int lda, const float* x, int incx,
                                  const float* beta, float* y, int incy) {
  return simt::blas::vector_product(handle, op, m, n, *alpha, a, lda, x, incx, *beta, y, incy);
}
inline cublasStatus_t cublasDgemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,
                                  const double* alpha, const double* a, int lda, const double* x, int incx,
                                  const double* beta, double* y, int incy) {
  return simt::blas::vector_product(handle, op, m, n, *alpha, a, lda, x, incx, *beta, y, incy);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType_t type_a, int lda, long long batch_a, const void* b,
    cudaDataType_t type_b, int ldb, long long batch_b, const void* beta, void* c, cudaDataType_t type_c,
    int ldc, long long batch_c, int count, cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (type_a != type_b) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto run = [&]<class T, class Out>(T*, Out*) {
    return simt::blas::product_of<T, Out>(handle, op_a, op_b, m, n, k, alpha, a, lda, batch_a, b, ldb,
                                          batch_b, beta, c, ldc, batch_c, count, compute);
  };
  constexpr auto* kFloat = static_cast<float*>(nullptr);
  constexpr auto* kHalf = static_cast<__half*>(nullptr);
  constexpr auto* kBfloat = static_cast<__nv_bfloat16*>(nullptr);
  if (type_a == CUDA_R_32F && type_c == CUDA_R_32F) return run(kFloat, kFloat);
  if (type_a == CUDA_R_16F && type_c == CUDA_R_16F) return run(kHalf, kHalf);
  if (type_a == CUDA_R_16F && type_c == CUDA_R_32F) return run(kHalf, kFloat);
  if (type_a == CUDA_R_16BF && type_c == CUDA_R_16BF) return run(kBfloat, kBfloat);
  if (type_a == CUDA_R_16BF && type_c == CUDA_R_32F) return run(kBfloat, kFloat);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                   int m, int n, int k, const void* alpha, const void* a,
                                   cudaDataType_t type_a, int lda, const void* b, cudaDataType_t type_b,
                                   int ldb, const void* beta, void* c, cudaDataType_t type_c, int ldc,
                                   cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0,
                                    beta, c, type_c, ldc, 0, 1, compute, algorithm);
}
