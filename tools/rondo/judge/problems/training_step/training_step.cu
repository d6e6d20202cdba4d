// A step of data-parallel training of softmax regression. training_step.md has the problem.
//   rondo judge check training_step.cu
//   SIMT_DEVICES=2 rondo cuda training_step.cu     runs main() below

// Arrays of each device d: weights[d], features x classes floats, equal on all devices before and after;
// images[d], a row of `features` floats each, and labels[d], of the images from count d / devices to count (d
// + 1) / devices.
void training_step(float* const* weights, const float* const* images, const int* const* labels, int count,
                   int features, int classes, float rate, int devices) {}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int devices = 2, count = 3, features = 2, classes = 2;
  float *weights[devices], *images[devices];
  int* labels[devices];
  const float zero[features * classes] = {}, all_images[count * features] = {1, 0, 0, 1, 1, 1};
  const int all_labels[count] = {0, 1, 1}, begin[devices] = {0, 1}, size[devices] = {1, 2};
  for (int d = 0; d < devices; ++d) {
    if (cudaSetDevice(d) != cudaSuccess)
      return printf("this needs %d devices: SIMT_DEVICES=%d\n", devices, devices), 1;
    cudaMalloc(&weights[d], sizeof(zero));
    cudaMalloc(&images[d], size[d] * features * sizeof(float));
    cudaMalloc(&labels[d], size[d] * sizeof(int));
    cudaMemcpy(weights[d], zero, sizeof(zero), cudaMemcpyDefault);
    cudaMemcpy(images[d], all_images + begin[d] * features, size[d] * features * sizeof(float),
               cudaMemcpyDefault);
    cudaMemcpy(labels[d], all_labels + begin[d], size[d] * sizeof(int), cudaMemcpyDefault);
  }
  training_step(weights, images, labels, count, features, classes, 6, devices);
  for (int d = 0; d < devices; ++d) {  // 0 0 -2 2, on each device
    float values[features * classes];
    cudaSetDevice(d);
    cudaDeviceSynchronize();
    cudaMemcpy(values, weights[d], sizeof(values), cudaMemcpyDefault);
    printf("%g %g %g %g\n", values[0], values[1], values[2], values[3]);
  }
}
#endif
