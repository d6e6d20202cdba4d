// Functions of the runtime that have names of their own with nvcc --default-stream per-thread, and that
// textbook.cu does not call.
#include <cstdio>
#include <cstring>
#include <vector>

cudaError_t first_error = cudaSuccess;
void check(cudaError_t error) {
  if (first_error == cudaSuccess) first_error = error;
}

int main() {
  const cudaExtent box = make_cudaExtent(64, 4, 2);
  cudaPitchedPtr device = {};
  check(cudaMalloc3D(&device, box));
  std::vector<char> host(64 * 4 * 2, 7);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = device;
  copy.dstPtr = make_cudaPitchedPtr(host.data(), 64, 64, 4);
  copy.extent = box;
  copy.kind = cudaMemcpyDeviceToHost;

  check(cudaMemset3D(device, 3, box));
  check(cudaMemcpy3D(&copy));
  std::printf("box: %d %d\n", host.front(), host.back());

  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  int called = 0;
  check(cudaMemset3DAsync(device, 5, box, stream));
  check(cudaMemcpy3DAsync(&copy, stream));
  check(cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t, void* count) { ++*static_cast<int*>(count); }, &called, 0));
  check(cudaStreamSynchronize(stream));
  std::printf("box on a stream: %d %d, called %d times\n", host.front(), host.back(), called);

  int* managed = nullptr;
  check(cudaMallocManaged(&managed, sizeof(int)));
  check(cudaStreamAttachMemAsync(stream, managed));
  unsigned long long id = 0, again = 0, id_of_thread = 0, id_of_default = 0, id_of_legacy = 0;
  check(cudaStreamGetId(stream, &id));
  check(cudaStreamGetId(stream, &again));
  check(cudaStreamGetId(cudaStreamPerThread, &id_of_thread));
  check(cudaStreamGetId(nullptr, &id_of_default));
  check(cudaStreamGetId(cudaStreamLegacy, &id_of_legacy));
  std::printf("ids: %d %d %d %d\n", id == again, id != id_of_thread, id_of_default == id_of_thread,
              id_of_legacy != id_of_thread && id_of_legacy != id);
  std::printf("%s\n", cudaGetErrorString(first_error));
  return 0;
}
