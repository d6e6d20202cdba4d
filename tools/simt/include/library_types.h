// The types of elements in the libraries of the CUDA toolkit.
#pragma once

enum cudaDataType {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_R_8U = 8,
  CUDA_R_32I = 10,
  CUDA_R_32U = 12,
  CUDA_R_16BF = 14
};
using cudaDataType_t = cudaDataType;
