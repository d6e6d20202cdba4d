// The cross-entropy of rows of logits, and its gradient. cross_entropy.md has the problem.
//   rondo judge check cross_entropy.cu
//   rondo cuda cross_entropy.cu            runs main() below

__global__ void cross_entropy_kernel(const float* logits, const int* labels, float* losses, float* gradient,
                                     int rows, int classes) {
  // Each block computes one row.
}

// logits and gradient: rows x classes floats, row after row; labels and losses: one value for each row; all
// in the memory of the current device. rows >= 1, 1 <= classes <= 4096, 0 <= labels[i] < classes.
void cross_entropy(const float* logits, const int* labels, float* losses, float* gradient, int rows,
                   int classes) {
  cross_entropy_kernel<<<1, 1>>>(logits, labels, losses, gradient, rows, classes);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int rows = 2, classes = 2;
  float* memory;
  int* labels;
  cudaMallocManaged(&memory, (2 * rows * classes + rows) * sizeof(float));
  cudaMallocManaged(&labels, rows * sizeof(int));
  float *logits = memory, *gradient = memory + rows * classes, *losses = gradient + rows * classes;
  logits[0] = 0, logits[1] = 0, logits[2] = 1000, logits[3] = 0;
  labels[0] = 1, labels[1] = 0;
  cross_entropy(logits, labels, losses, gradient, rows, classes);
  cudaDeviceSynchronize();
  printf("losses %g %g\n", losses[0], losses[1]);                                         // 0.693147 0
  printf("gradient %g %g, %g %g\n", gradient[0], gradient[1], gradient[2], gradient[3]);  // 0.25 -0.25, 0 0
  cudaFree(memory);
  cudaFree(labels);
}
#endif
