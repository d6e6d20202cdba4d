// A header of CUDA in front of <cuda_runtime.h>, in a source of the standard C++17.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>

float lerp(float a, float b, float t) { return a + t * (b - a); }  // std::lerp is of C++20

int main() { printf("%g\n", std::sqrt(lerp(__half2float(__float2half(1)), 7, 0.5f))); }
