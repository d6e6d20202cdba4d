// Convolution with 3 x 3 filters and a border of zeros. conv2d.md has the problem.
//   rondo judge check conv2d.cu
//   rondo cuda conv2d.cu            runs main() below

__global__ void conv2d_kernel(const float* x, const float* w, float* y, int channels, int filters, int height,
                              int width) {
  // Each thread computes one element of y, or several.
}

// x: images x channels x height x width floats, w: filters x channels x 3 x 3 floats, y: images x filters x
// height x width floats, all in the memory of the current device; the last index is contiguous. All sizes are
// at least 1.
void conv2d(const float* x, const float* w, float* y, int images, int channels, int filters, int height,
            int width) {
  conv2d_kernel<<<1, 1>>>(x, w, y, channels, filters, height, width);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int height = 3, width = 4, size = height * width;
  float* memory;
  cudaMallocManaged(&memory, (2 * size + 9) * sizeof(float));
  float *x = memory, *y = x + size, *w = y + size;
  for (int i = 0; i < size; ++i) x[i] = i, y[i] = -1;
  for (int i = 0; i < 9; ++i) w[i] = i == 5;  // the element to the right
  conv2d(x, w, y, 1, 1, 1, height, width);
  cudaDeviceSynchronize();
  for (int i = 0; i < size; i += width)  // 1 2 3 0, 5 6 7 0, 9 10 11 0
    printf("%g %g %g %g\n", y[i], y[i + 1], y[i + 2], y[i + 3]);
  cudaFree(memory);
}
#endif
