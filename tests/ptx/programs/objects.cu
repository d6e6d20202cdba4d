// Objects that kernels allocate: virtual functions, function pointers from device and host, new and delete.
#include <cstdio>

struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual ~Shape() {}
};
struct Square : Shape {
  __device__ explicit Square(float a) : side(a) {}
  __device__ float area() const override { return side * side; }
  float side;
};
struct Rectangle : Shape {
  __device__ Rectangle(float a, float b) : width(a), height(b) {}
  __device__ float area() const override { return width * height; }
  float width, height;
};

using Function = float (*)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float negated(float x) { return -x; }
__device__ Function functions[] = {twice, negated};

__global__ void sum_areas(const Function* chosen, float* sum) {
  const float side = static_cast<float>(threadIdx.x);
  Shape* shape = nullptr;
  if (threadIdx.x % 2 == 0) {
    shape = new Square(side);
  } else {
    shape = new Rectangle(side, 3);
  }
  if (!shape) return;
  const Function function = threadIdx.x < 16 ? functions[threadIdx.x % 2] : *chosen;
  atomicAdd(sum, function(shape->area()));
  delete shape;
}

int main() {
  Function* chosen = nullptr;
  float* sum = nullptr;
  cudaMallocManaged(&chosen, sizeof(Function));
  cudaMallocManaged(&sum, sizeof(float));
  *sum = 0;
  cudaMemcpyFromSymbol(chosen, functions, sizeof(Function), sizeof(Function));
  float expected = 0;
  for (int i = 0; i < 32; ++i) {
    const float area = static_cast<float>(i % 2 == 0 ? i * i : 3 * i);
    expected += i < 16 && i % 2 == 0 ? 2 * area : -area;
  }
  sum_areas<<<1, 32>>>(chosen, sum);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%g, expected %g, %s\n", static_cast<double>(*sum), static_cast<double>(expected),
              cudaGetErrorString(error));
  return 0;
}
