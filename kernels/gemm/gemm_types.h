// The types of products: DEFINE(type of a and b, type of c) for each pair.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define RONDO_FOR_GEMM_TYPES(DEFINE)   \
  DEFINE(float, float)                 \
  DEFINE(__nv_bfloat16, __nv_bfloat16) \
  DEFINE(__nv_bfloat16, float)         \
  DEFINE(__half, __half)               \
  DEFINE(__half, float)
