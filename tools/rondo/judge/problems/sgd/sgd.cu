// A step of SGD with momentum and weight decay. sgd.md has the problem.
//   rondo judge check sgd.cu
//   rondo cuda sgd.cu            runs main() below

__global__ void sgd_kernel(float* weights, float* velocity, const float* gradient, int n, float rate,
                           float momentum, float decay) {
  // Each thread updates one weight.
}

// weights, velocity and gradient: n floats in the memory of the current device; n >= 1. The first two are
// updated.
void sgd(float* weights, float* velocity, const float* gradient, int n, float rate, float momentum,
         float decay) {
  sgd_kernel<<<1, 1>>>(weights, velocity, gradient, n, rate, momentum, decay);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  float* memory;
  cudaMallocManaged(&memory, 6 * sizeof(float));
  float *weights = memory, *velocity = memory + 2, *gradient = memory + 4;
  weights[0] = 1, weights[1] = 2;
  velocity[0] = 0, velocity[1] = 4;
  gradient[0] = 3, gradient[1] = -1;
  sgd(weights, velocity, gradient, 2, 0.5f, 0.5f, 1);
  cudaDeviceSynchronize();
  printf("velocity %g %g, weights %g %g\n", velocity[0], velocity[1], weights[0], weights[1]);  // 4 3, -1 0.5
  cudaFree(memory);
}
#endif
