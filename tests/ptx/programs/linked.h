// What the two files of the program share.
#pragma once

#include <cstdio>

__device__ float scaled(float value);  // in linked_functions.cu, as all but the template
extern __device__ float factor;
extern __constant__ float offsets[2];
void set_offsets(float first, float second);
void launch_there(float* values);

// Both files have a copy of this kernel.
template <class T>
__global__ void add_twice(T* values, T value) {
  values[threadIdx.x] += 2 * value;
  if (threadIdx.x == 0) printf("added %g twice\n", double(value));
}
