// Constants of 32 bytes whose upper words are zero and whose other words are alike.
#include <cstdint>
#include <cstdio>

struct Box {
  int64_t size[4];
};

__global__ void sum_upper(int64_t* out, Box box) { *out = 10 * box.size[2] + box.size[3]; }

__attribute__((noipa)) int64_t upper_on_host(Box box) { return 10 * box.size[2] + box.size[3]; }

int main() {
  int64_t* out;
  cudaMallocManaged(&out, sizeof(int64_t));
  sum_upper<<<1, 1>>>(out, Box{{3, 3, 0, 0}});
  cudaDeviceSynchronize();
  std::printf("%d %d\n", static_cast<int>(*out), static_cast<int>(upper_on_host(Box{{3, 3, 0, 0}})));
}
