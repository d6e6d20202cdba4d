// Every form of a launch and of a kernel.
#include <cstdio>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)); \
  } while (0)
#define LAUNCH(kernel, blocks, threads, ...) \
  do {                                       \
    kernel<<<blocks, threads>>>(__VA_ARGS__);  \
    CHECK(cudaGetLastError());               \
  } while (0)

constexpr int kBlocks = 3, kThreads = 4;
__device__ int linear() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void plain(int* out, int value) { out[linear()] = value; }
__global__ void with_default(int* out, int value = 7) { out[linear()] = value; }
static __global__ void __launch_bounds__(256, 2) is_static(int* __restrict__ out, const int value) {
  out[linear()] = value;
}
template <class T>
__global__ void deduced(T* out, T value) { out[linear()] = value; }
template <typename T, int N, bool = true>
__global__ void sized(T* out) { out[linear()] = static_cast<T>(N); }
template <>
__global__ void sized<int, 9, true>(int* out) { out[linear()] = 99; }
template <class... Values>
__global__ void several(int* out, Values... values) { out[linear()] = (0 + ... + values); }
template <class F>
__global__ void apply(int* out, F f) { out[linear()] = f(linear()); }
__global__ void overloaded(int* out, int value) { out[linear()] = value; }
__global__ void overloaded(int* out, float value) { out[linear()] = static_cast<int>(value * 10); }
__global__ void ignores(int* out, int, float (*)(float), const int[]) { out[linear()] = 5; }
struct Pair {
  int first, second;
  __host__ __device__ int sum() const { return first + second; }
};
__global__ void takes_struct(int* out, Pair pair) { out[linear()] = pair.first * 10 + pair.second; }
namespace inner { namespace {
__global__ void nested(int* out, int value) { out[linear()] = value; }
} }  // namespace inner
__global__ void declared_first(int* out);
extern "C" __global__ void c_linkage(int* out) { out[linear()] = 21; }

__global__ void takes_attribute(int* out, [[maybe_unused]] int unused) { out[linear()] = 6; }
__global__ void takes_pointers(int* out, float (*__restrict__ rows)[4], float (*const function)(float)) {
  out[linear()] = rows == nullptr && function == nullptr ? 7 : 0;
}
__global__ [[maybe_unused]] void has_attribute(int* out) { out[linear()] = 8; }
template <int (Pair::*M)() const>
__global__ void calls_member(int* out, Pair pair) { out[linear()] = (pair.*M)(); }

template <int N>
struct Size { static constexpr int value = N; };
void show(const char* name, int* device) {
  std::vector<int> host(kBlocks * kThreads);
  CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("%s: %d %d\n", name, host.front(), host.back());
}
int launch_in_argument(int* out) {
  plain<<<kBlocks, kThreads>>>(out, 1);
  return 2;
}
// Waits: a block of this kernel may run on this thread, in the middle of the outer launch.
int waits_in_argument(int* out) {
  int value = 0;
  plain<<<kBlocks, kThreads>>>(out, 30);
  CHECK(cudaMemcpy(&value, out, sizeof(int), cudaMemcpyDeviceToHost));
  return value + 1;
}
int throws() { throw 5; }
template <class T>
void from_template(T* out) {
  sized<T, 4><<<dim3(kBlocks), dim3(Size<kThreads>::value)>>>(out);
}

// A class with a destructor: the bytes of the argument go to the kernel, and the host destroys it once,
// after the launch. cudaFree() then waits for the kernel.
struct Owner {
  static int destroyed;
  int* value;
  explicit Owner(int number) {
    CHECK(cudaMalloc(&value, sizeof(int)));
    CHECK(cudaMemcpy(value, &number, sizeof(int), cudaMemcpyHostToDevice));
  }
  ~Owner() {
    CHECK(cudaFree(value));
    ++destroyed;
  }
};
int Owner::destroyed = 0;
__global__ void takes_owner(int* out, Owner owner, int add) {
  out[linear()] = *owner.value + add;
  owner.value = nullptr;  // of this thread
}

int main() {
  int* out;
  CHECK(cudaMalloc(&out, kBlocks * kThreads * sizeof(int)));
  plain<<<kBlocks, kThreads>>>(out, 3); show("plain", out);
  with_default<<<kBlocks, kThreads, 0, 0>>>(out); show("with_default", out);
  is_static<<<(kBlocks * kThreads + 3) / 4, 1 << 2>>>(out, 'a'); show("is_static", out);
  deduced<<<kBlocks, kThreads>>>(out, 11); show("deduced", out);
  sized<int, (8 >> 2)><<<kBlocks, kThreads>>>(out); show("sized", out);
  sized<int, 9><<<kBlocks, kThreads>>>(out); show("specialised", out);
  from_template(out); show("from_template", out);
  several<<<kBlocks, kThreads>>>(out, 1, 2L, short{3}); show("several", out);
  several<<<kBlocks, kThreads>>>(out); show("several of none", out);
  apply<<<kBlocks, kThreads>>>(out, [] __device__(int i) { return 2 * i; }); show("lambda", out);
  overloaded<<<kBlocks, kThreads>>>(out, 6); show("overloaded int", out);
  overloaded<<<kBlocks, kThreads>>>(out, 6.5f); show("overloaded float", out);
  ignores<<<kBlocks, kThreads>>>(out, 1, nullptr, nullptr); show("ignores", out);
  takes_struct<<<kBlocks, kThreads>>>(out, {4, 2}); show("takes_struct", out);
  inner::nested<<<kBlocks, kThreads>>>(out, 12); show("nested", out);
  ::plain<<<kBlocks, kThreads>>>(out, 13); show("qualified", out);
  void (*pointer)(int*, int) = plain;
  pointer<<<kBlocks, kThreads>>>(out, 14); show("pointer", out);
  void (*table[])(int*, int) = {plain, inner::nested};
  table[1]<<<kBlocks, kThreads>>>(out, 15); show("table", out);
  (*table[0])<<<kBlocks, kThreads>>>(out, 16); show("dereferenced", out);
  declared_first<<<kBlocks, kThreads>>>(out); show("declared_first", out);
  c_linkage<<<kBlocks, kThreads>>>(out); show("c_linkage", out);
  plain<<<kBlocks, kThreads>>>(out, launch_in_argument(out)); show("launch in an argument", out);
  plain<<<kBlocks, kThreads>>>(out, waits_in_argument(out)); show("wait in an argument", out);
  try {
    plain<<<kBlocks, kThreads>>>(out, throws());
  } catch (int value) {
    std::printf("an argument throws: %d\n", value);
  }
  takes_attribute<<<kBlocks, kThreads>>>(out, 1); show("attribute of a parameter", out);
  takes_owner<<<kBlocks, kThreads>>>(out, Owner(20), 4); show("an argument with a destructor", out);
  std::printf("destroyed: %d\n", Owner::destroyed);
  takes_pointers<<<kBlocks, kThreads>>>(out, nullptr, nullptr); show("pointers", out);
  has_attribute<<<kBlocks, kThreads>>>(out); show("attribute of a kernel", out);
  calls_member<&Pair::sum><<<kBlocks, kThreads>>>(out, {3, 4}); show("pointer to a member", out);
  apply<<<kBlocks, kThreads>>>(out, [=] __host__ __device__(int i) { return 3 * i + kThreads; });
  show("lambda of both", out);
  apply<<<kBlocks, kThreads>>>(out, []<class T> __device__(T i) { return i + 1; });
  show("generic lambda", out);
  if (true) (*pointer)<<<kBlocks, kThreads>>>(out, 22); show("after if", out);
  switch (kBlocks) {
    case 3: plain<<<kBlocks, kThreads>>>(out, 23);
  }
  show("after a label", out);
  LAUNCH(plain, kBlocks, dim3(kThreads, 1), out, 17); show("macro", out);
  LAUNCH((sized<int, 18>), kBlocks, kThreads, out); show("macro with a template", out);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  if (true) plain<<<kBlocks,
                    kThreads, 0,
                    stream>>>(out,
                              19);
  else plain<<<1, 1>>>(out, 0);
  CHECK(cudaStreamSynchronize(stream));
  show("over several lines", out);
  std::printf("line %d\n", __LINE__);
  for (int i = 0; i < 3; ++i) plain<<<kBlocks, kThreads>>>(out, i);
  show("loop", out);
  const bool less = kBlocks << 1 < kThreads;
  std::printf("shift and less: %d, %s\n", less, R"(raw <<<1, 1>>>(text))");
  plain<<<kBlocks, 2048>>>(out, 0);
  CHECK(cudaGetLastError());
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, plain));
  CHECK(cudaFree(out));
}
__global__ void declared_first(int* out) { out[linear()] = 20; }
