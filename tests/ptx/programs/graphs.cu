// A graph that is built node by node: a sum of squares on the device that a host node receives, with other
// parameters at every launch, in the calls as programs for CUDA 11 and later write them.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define CHECK(call)                                                                            \
  do {                                                                                         \
    const cudaError_t error = (call);                                                          \
    if (error != cudaSuccess) {                                                                \
      std::printf("%s: %s (%s)\n", #call, cudaGetErrorName(error), cudaGetErrorString(error)); \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (false)

struct Range {
  char first;
  int count;
};

__global__ void sum_of_squares(const float* x, Range range, double* sum) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < range.count) atomicAdd(sum, static_cast<double>(x[range.first + i]) * x[range.first + i]);
}

__global__ void scale(double* sum, double factor) { *sum *= factor; }

struct Total {
  double sum, all;
};
void add_up(void* data) { static_cast<Total*>(data)->all += static_cast<Total*>(data)->sum; }

int main() {
  constexpr int n = 100;
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  float* x;
  double* sum;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&sum, sizeof(double)));
  Total total = {0, 0};

  cudaGraph_t graph, half;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemcpy3DParms up = {};
  up.srcPtr = make_cudaPitchedPtr(numbers.data(), n * sizeof(float), n, 1);
  up.dstPtr = make_cudaPitchedPtr(x, n * sizeof(float), n, 1);
  up.extent = make_cudaExtent(n * sizeof(float), 1, 1);
  up.kind = cudaMemcpyHostToDevice;
  cudaMemsetParams zero = {};
  zero.dst = sum;
  zero.elementSize = sizeof(float);
  zero.width = 2;
  zero.height = 1;
  cudaGraphNode_t ready[2], add, child, back, call, end;
  CHECK(cudaGraphAddMemcpyNode(&ready[0], graph, nullptr, 0, &up));
  CHECK(cudaGraphAddMemsetNode(&ready[1], graph, nullptr, 0, &zero));
  Range range = {0, n};
  void* arguments[] = {&x, &range, &sum};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(sum_of_squares);
  kernel.gridDim = dim3(4);
  kernel.blockDim = dim3(32);
  kernel.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&add, graph, ready, 2, &kernel));

  double factor = 0.5;
  void* scaling[] = {&sum, &factor};
  cudaKernelNodeParams by_half = {};
  by_half.func = reinterpret_cast<void*>(scale);
  by_half.gridDim = by_half.blockDim = dim3(1);
  by_half.kernelParams = scaling;
  CHECK(cudaGraphCreate(&half, 0));
  CHECK(cudaGraphAddKernelNode(&child, half, nullptr, 0, &by_half));
  CHECK(cudaGraphAddChildGraphNode(&child, graph, &add, 1, half));
  CHECK(
      cudaGraphAddMemcpyNode1D(&back, graph, &child, 1, &total.sum, sum, sizeof(double), cudaMemcpyDefault));
  cudaHostNodeParams host = {add_up, &total};
  CHECK(cudaGraphAddHostNode(&call, graph, &back, 1, &host));
  CHECK(cudaGraphAddEmptyNode(&end, graph, &call, 1));

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  for (const Range next : {Range{0, n}, Range{10, 3}, Range{99, 1}}) {
    range = next;  // the node has a copy of the one before
    CHECK(cudaGraphExecKernelNodeSetParams(exec, add, &kernel));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("sum %.1f, all %.1f\n", total.sum, total.all);
  }

  cudaGraph_t clone;
  cudaGraphNode_t twin, failed;
  CHECK(cudaGraphClone(&clone, graph));
  CHECK(cudaGraphNodeFindInClone(&twin, add, clone));
  range = {1, 2};
  CHECK(cudaGraphKernelNodeSetParams(twin, &kernel));
  cudaGraphExecUpdateResult result;
  CHECK(cudaGraphExecUpdate(exec, clone, &failed, &result));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  size_t nodes = 0, edges = 0;
  CHECK(cudaGraphGetNodes(clone, nullptr, &nodes));
  CHECK(cudaGraphGetEdges(clone, nullptr, nullptr, nullptr, &edges));
  std::printf("updated: sum %.1f, %zu nodes, %zu edges\n", total.sum, nodes, edges);
  return 0;
}
