// A kernel that waits until the host writes to memory: released loop|sleep|copy.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

__global__ void wait_in_a_loop(const volatile int* flag, int* result) {
  while (*flag == 0) {
  }
  *result = 7;
}

__global__ void wait_with_pauses(const volatile int* flag, int* result) {
  while (*flag == 0) __nanosleep(100);
  *result = 7;
}

int main(int count, char** names) {
  const char* const name = count > 1 ? names[1] : "";
  cudaStream_t kernels, copies;
  cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  int *pinned, *memory;
  cudaMallocHost(&pinned, sizeof(int));
  cudaMalloc(&memory, 2 * sizeof(int));
  cudaMemset(memory, 0, 2 * sizeof(int));
  *pinned = 0;
  int* const result = memory + 1;
  if (!std::strcmp(name, "loop")) wait_in_a_loop<<<2, 64, 0, kernels>>>(pinned, result);
  if (!std::strcmp(name, "sleep")) wait_with_pauses<<<2, 64, 0, kernels>>>(pinned, result);
  if (!std::strcmp(name, "copy")) wait_in_a_loop<<<2, 64, 0, kernels>>>(memory, result);
  std::this_thread::sleep_for(std::chrono::seconds(2));
  *static_cast<volatile int*>(pinned) = 1;
  if (!std::strcmp(name, "copy"))
    cudaMemcpyAsync(memory, pinned, sizeof(int), cudaMemcpyHostToDevice, copies);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  int seven = 0;
  cudaMemcpy(&seven, result, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("released after 2 seconds: %d\n", seven);
  return 0;
}
