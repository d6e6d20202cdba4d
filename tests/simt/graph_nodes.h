// The fixture of tests with graphs that are built node by node.
#pragma once

#include <initializer_list>
#include <iterator>

#include "host_support.h"

namespace simt_test {

namespace {  // each file has its kernels

__global__ void times_ten_plus_digit(int* out, int digit) { *out = *out * 10 + digit; }
__global__ void add_of(int* out, const int* a, const int* b) { *out = *a + *b; }

class GraphNodes : public HostTest {
 protected:
  using Nodes = std::initializer_list<cudaGraphNode_t>;

  void SetUp() override {
    HostTest::SetUp();
    // The executor learns the parameters of a kernel from calls that name it by its type.
    cudaFuncAttributes attributes;
    CUDA_OK(cudaFuncGetAttributes(&attributes, times_ten_plus_digit));
    CUDA_OK(cudaFuncGetAttributes(&attributes, add_of));
    stream_ = make_stream();
    out_ = allocate<int>(8);
    zero();
    CUDA_OK(cudaGraphCreate(&graph_, 0));
  }
  void TearDown() override {
    if (graph_) cudaGraphDestroy(graph_);
    cudaStreamDestroy(stream_);
    cudaFree(out_);
    HostTest::TearDown();
  }

  void zero() {
    CUDA_OK(cudaMemset(out_, 0, 8 * sizeof(int)));
    CUDA_OK(cudaDeviceSynchronize());
  }

  // Parameters of a kernel node with the addresses of these arguments.
  template <class Kernel>
  static cudaKernelNodeParams params(Kernel kernel, void** arguments, unsigned grid = 1, unsigned block = 1) {
    cudaKernelNodeParams p = {};
    p.func = reinterpret_cast<void*>(kernel);
    p.gridDim = dim3(grid);
    p.blockDim = dim3(block);
    p.kernelParams = arguments;
    return p;
  }
  cudaGraphNode_t add_digit(int* out, int digit, Nodes after = {}) {
    return add_digit(graph_, out, digit, after);
  }
  static cudaGraphNode_t add_digit(cudaGraph_t graph, int* out, int digit, Nodes after = {}) {
    void* arguments[] = {&out, &digit};
    const cudaKernelNodeParams p = params(times_ten_plus_digit, arguments);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, std::data(after), after.size(), &p), cudaSuccess);
    return node;
  }
  static cudaError_t set_digit(cudaGraphNode_t node, int* out, int digit, cudaGraphExec_t exec = nullptr) {
    void* arguments[] = {&out, &digit};
    const cudaKernelNodeParams p = params(times_ten_plus_digit, arguments);
    return exec ? cudaGraphExecKernelNodeSetParams(exec, node, &p) : cudaGraphKernelNodeSetParams(node, &p);
  }
  cudaGraphNode_t add_fill(int* out, unsigned value, Nodes after = {}) {
    const cudaMemsetParams p = fill(out, value);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph_, std::data(after), after.size(), &p), cudaSuccess);
    return node;
  }
  static cudaMemsetParams fill(int* out, unsigned value) {
    cudaMemsetParams p = {};
    p.dst = out;
    p.value = value;
    p.elementSize = 4;
    p.width = p.height = 1;
    return p;
  }
  cudaGraphExec_t instantiate() { return instantiate(graph_); }
  static cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    return exec;
  }
  // Launches it, waits, and returns *out_.
  int run(cudaGraphExec_t exec) {
    zero();
    EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return read(out_);
  }
  // What the graph computes now, if it is launched once.
  int result() { return result(graph_); }
  int result(cudaGraph_t graph) {
    const cudaGraphExec_t exec = instantiate(graph);
    const int value = run(exec);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    return value;
  }

  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  int* out_ = nullptr;
};

}  // namespace
}  // namespace simt_test
