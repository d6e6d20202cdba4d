// Mistakes, by number: what --check and --bounds say of each.
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int kCount = 1000;

__global__ void missing_barrier(float* out) {
  __shared__ float values[64];
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = values[63 - threadIdx.x];
}
__global__ void without_test_of_n(float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 1;
}
__global__ void beyond_shared_array(float* out) {
  __shared__ float values[32], others[32];
  others[threadIdx.x % 32] = 0;
  __syncwarp();
  values[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}
__global__ void beyond_dynamic(float* out, int n) {
  extern __shared__ float values[];
  values[n] = 1;
  *out = values[n];
}
struct Buffers { const float* in; float* out; };
__global__ void copies(Buffers buffers) { buffers.out[threadIdx.x] = buffers.in[threadIdx.x]; }
__global__ void indirect(const float* const* table, float* out) { out[threadIdx.x] = table[0][threadIdx.x]; }
__global__ void sums_unwritten(const float* in, float* out) { atomicAdd(out, in[threadIdx.x]); }
__global__ void diverges() {
  if (threadIdx.x < 16) __syncthreads();
  else if (threadIdx.x < 32) __syncwarp(0xFFFFFFFFu);
}
__global__ void wide_at_end(float* out) { *reinterpret_cast<float4*>(out + 996) = float4{1, 2, 3, 4}; }
__global__ void wide_over_end(float* out) { *reinterpret_cast<double*>(out + kCount) = 1; }
__global__ void misaligned(float* out) { *reinterpret_cast<float4*>(out + 1) = float4{1, 2, 3, 4}; }
struct Shape {
  float side;
  __device__ explicit Shape(float s) : side(s) {}
  __device__ virtual float area() const { return side * side; }
};
__global__ void heap(float* out) {
  Shape* const shape = new Shape(3);
  int* const numbers = static_cast<int*>(malloc(4 * sizeof(int)));
  numbers[3] = 1;
  out[threadIdx.x] = shape->area() + static_cast<float>(numbers[3]);
  delete shape;
  free(numbers);
}
__global__ void copies_bytes(float* to, const float* from, int bytes) { memcpy(to, from, bytes); }
__global__ void fills(float* to, int bytes) { memset(to, 0, bytes); }
__global__ void copies_rows(float* to, const float* from, int floats) {
  const int begin = threadIdx.x * 8;
  std::memmove(to + begin, from + begin, floats * sizeof(float));
}
__global__ void right(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
// Not the same barrier for all threads, which CUDA does not define.
__global__ void two_barriers() {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncthreads();
}
// Threads that have exited are not waited for, before and after the others wait.
__global__ void some_return(float* out) {
  if (threadIdx.x >= 16 && threadIdx.x < 32) return;
  if (threadIdx.x < 16) __syncthreads();
  out[threadIdx.x] = 1;
}
// The barrier waits for the exit of threads 16-31, and orders nothing that these have done.
__global__ void reads_of_exited(float* out) {
  __shared__ float values[32];
  if (threadIdx.x < 16) {
    __syncthreads();
    out[threadIdx.x] = values[threadIdx.x + 16];
  } else {
    values[threadIdx.x] = 1;
  }
}
__global__ void traps() {
  if (threadIdx.x == 3) __trap();
}

int main(int argc, char** argv) {
  const int mistake = argc > 1 ? std::atoi(argv[1]) : 0;
  float *a, *b, host[64] = {};
  cudaMalloc(&a, kCount * sizeof(float));
  cudaMalloc(&b, kCount * sizeof(float));
  if (mistake != 8) cudaMemset(a, 0, kCount * sizeof(float));
  cudaMemset(b, 0, sizeof(float));
  switch (mistake) {
    case 1: missing_barrier<<<1, 64>>>(a); break;
    case 2: without_test_of_n<<<(kCount + 255) / 256, 256>>>(a); break;
    case 3: beyond_shared_array<<<1, 64>>>(a); break;
    case 4: beyond_dynamic<<<1, 1, 256>>>(a, 64); break;
    case 5: right<<<1, 32>>>(host, a); break;
    case 6: {
      const float** table;
      cudaMallocHost(&table, sizeof(float*));
      table[0] = host;  // a host pointer in memory that the kernel reads
      indirect<<<1, 32>>>(table, a);
      break;
    }
    case 7: {
      const float** table;
      cudaMallocHost(&table, sizeof(float*));
      table[0] = b;
      cudaFree(b);
      indirect<<<1, 32>>>(table, a);
      break;
    }
    case 8: sums_unwritten<<<1, 32>>>(a, b); break;
    case 9: copies<<<1, 32>>>({a, nullptr}); break;
    case 17:
      for (int i = 0; i < 2; ++i) right<<<1, 2048>>>(a, b);  // nobody asks for the errors of these
      right<<<1, 32, 300000>>>(a, b);
      break;
    case 18:
      right<<<1, 2048>>>(a, b);
      std::printf("%s\n", cudaGetErrorName(cudaPeekAtLastError()));
      break;
    case 10: diverges<<<1, 32>>>(); break;
    case 12: wide_at_end<<<1, 1>>>(a); heap<<<1, 32>>>(b); break;
    case 13: {
      float* odd;
      cudaMalloc(&odd, kCount * sizeof(float) + 4);  // a double that begins inside ends behind
      wide_over_end<<<1, 1>>>(odd);
      break;
    }
    case 14: {
      const float** table;
      float* other;
      cudaSetDevice(1);
      cudaMalloc(&other, sizeof(host));
      cudaMemset(other, 0, sizeof(host));
      cudaDeviceSynchronize();
      cudaSetDevice(0);
      cudaMallocHost(&table, sizeof(float*));
      table[0] = other;  // of a device without peer access
      indirect<<<1, 32>>>(table, a);
      break;
    }
    case 16: misaligned<<<1, 1>>>(a); break;
    case 15:
      for (int i = 0; i < 40000; ++i) {
        float* piece = nullptr;
        if (cudaMalloc(&piece, 1000) != cudaSuccess) std::printf("no memory at %d\n", i);
        cudaFree(piece);
      }
      break;
    case 11: right<<<1, 32>>>(a, b); cudaDeviceSynchronize(); std::printf("%g\n", b[3]); break;
    case 19: copies_bytes<<<1, 1>>>(b, a, kCount * sizeof(float) + 4); break;
    case 20: fills<<<1, 2>>>(b, 64); break;
    case 21: copies_rows<<<1, 32>>>(b, a, 7); break;
    case 24: two_barriers<<<1, 32>>>(); break;
    case 25: some_return<<<1, 64>>>(b); break;
    case 26: reads_of_exited<<<1, 32>>>(b); break;
    case 27: {  // the first line of the launch, which a graph repeats
      cudaStream_t stream;
      cudaGraph_t graph;
      cudaGraphExec_t exec;
      cudaStreamCreate(&stream);
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
      traps
          <<<1, 32, 0, stream>>>();
      cudaStreamEndCapture(stream, &graph);
      cudaGraphInstantiate(&exec, graph, 0);
      cudaGraphLaunch(exec, stream);
      break;
    }
    case 22: std::memcpy(host, a, sizeof(host)); break;
    case 23:
      cudaMemcpy(a, b, sizeof(host), cudaMemcpyHostToDevice);
      for (float** pointer : {&a, &b})
        if (cudaMalloc(pointer, size_t{1} << 60) != cudaSuccess) std::printf("no memory\n");
      cudaMalloc(&a, sizeof(host));
      cudaMalloc(&b, sizeof(host));
      cudaMemset(b, 0, sizeof(host));
      break;
    default: right<<<1, 32>>>(a, b);
  }
  cudaDeviceSynchronize();
  const cudaError_t error = cudaMemcpy(host, b, sizeof(host) / 2, cudaMemcpyDeviceToHost);
  std::printf("%g %s\n", host[3], cudaGetErrorName(error));
}
