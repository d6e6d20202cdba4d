// The handle of cuBLASLt, which programs make beside that of cuBLAS. There are no products by it.
#pragma once

#include <cublas_v2.h>

using cublasLtHandle_t = cublasContext*;
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return cublasCreate(handle); }
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return cublasDestroy(handle); }
