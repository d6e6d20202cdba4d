// Shared memory: static, dynamic, in templates, in device functions.
#include <cstdio>

constexpr int kThreads = 64;

__device__ int block_sum(int value) {
  __shared__ int values[kThreads];  // a variable of this function, in every kernel that calls it
  values[threadIdx.x] = value;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += values[i];
  return sum;
}
__global__ void sums(int* out) {
  __shared__ int values[kThreads];
  values[threadIdx.x] = 1;
  const int sum = block_sum(static_cast<int>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) *out = sum * 100 + values[5];
}

struct Row { float x, y[3]; };
template <class T, int N>
__global__ void kinds(int* out) {
  __shared__ T tile[N][N + 1], *pointer;
  __shared__ Row rows[2];
  static __shared__ volatile int counter;
  __shared__ alignas(128) char bytes[sizeof(T) * N];
  __shared__ struct { int a; short b[2]; } pair;
  __shared__ bool flag;
  if (threadIdx.x == 0) {
    pointer = &tile[1][0];
    tile[1][0] = 3;
    rows[1].y[2] = 4;
    counter = 5;
    bytes[0] = 6;
    pair.b[1] = 7;
    flag = true;
    *out = static_cast<int>(*pointer) * 100000 + static_cast<int>(rows[1].y[2]) * 10000 + counter * 1000 +
           bytes[0] * 100 + pair.b[1] * 10 + flag;
    std::printf("%d bytes of tile, %d of bytes, aligned %d\n", static_cast<int>(sizeof(tile)),
                static_cast<int>(sizeof(bytes)), static_cast<int>(reinterpret_cast<size_t>(bytes) % 128));
  }
}

extern __shared__ int at_file_scope[];
__device__ void add(int i) { at_file_scope[i] += 1; }
__global__ void dynamic(int* out, int n) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) at_file_scope[i] = i;
  add(static_cast<int>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) *out = at_file_scope[0] + at_file_scope[n - 1];
}
__global__ void takes_parameter(int* out, int at_file_scope) { *out = at_file_scope; }
__global__ void hides(int* out) {
  int at_file_scope = 8;
  *out = at_file_scope;
}
template <class T>
__global__ void of_type(int* out) {
  extern __shared__ __align__(sizeof(double)) unsigned char raw[];
  T* const values = reinterpret_cast<T*>(raw);
  values[threadIdx.x] = static_cast<T>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) *out = static_cast<int>(values[kThreads - 1]);
}
__global__ void rows(int* out) {
  extern __shared__ int table[][8];
  table[threadIdx.x / 8][threadIdx.x % 8] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) *out = table[7][7];
}
__global__ void both(int* out) {
  extern __shared__ int dynamic_part[];
  __shared__ int fixed[kThreads];
  dynamic_part[threadIdx.x] = 1;
  fixed[threadIdx.x] = 2;
  __syncthreads();
  if (threadIdx.x == 0) *out = dynamic_part[kThreads - 1] * 10 + fixed[0];
}
__global__ void too_much(int* out) {
  __shared__ int large[13000];
  large[threadIdx.x] = 1;
  *out = large[0];
}
__global__ void more_than_launched(int* out) {
  extern __shared__ int values[];
  *out = values[0];
}

int* device;
void show(const char* name) {
  int value = -1;
  const cudaError_t error = cudaMemcpy(&value, device, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%s: %d %s\n", name, value, cudaGetErrorName(error));
}

int main() {
  cudaMalloc(&device, sizeof(int));
  sums<<<2, kThreads>>>(device); show("sums");
  kinds<float, 8><<<1, kThreads>>>(device); show("kinds of float");
  kinds<double, 4><<<1, kThreads>>>(device); show("kinds of double");
  dynamic<<<1, kThreads, 1000 * sizeof(int)>>>(device, 1000); show("dynamic");
  takes_parameter<<<1, 1>>>(device, 9); show("a parameter of that name");
  hides<<<1, 1>>>(device); show("a variable of that name");
  of_type<double><<<1, kThreads, kThreads * sizeof(double)>>>(device); show("of_type double");
  of_type<short><<<1, kThreads, kThreads * sizeof(short)>>>(device); show("of_type short");
  rows<<<1, kThreads, kThreads * sizeof(int)>>>(device); show("rows");
  both<<<3, kThreads, kThreads * sizeof(int)>>>(device); show("both");
  too_much<<<1, kThreads>>>(device); show("too much");
}
