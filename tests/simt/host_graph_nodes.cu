// Graphs that are built node by node: what each kind of node does, edges, and what is refused.
// Above 400 lines because each kind of node is tested with what it refuses.
#include <cuda.h>

#include <cstring>
#include <set>

#include "graph_nodes.h"

namespace simt_test {
namespace {

struct Pair {
  char letter;
  double value;
};
__global__ void store_pair(double* out, Pair pair, char more) { *out = pair.letter + pair.value + more; }
__global__ void never_named(int* out) { *out = 1; }

TEST_F(GraphNodes, NodesOfAllKindsRunInTheOrderOfTheEdges) {
  for (const auto seed :
       {std::optional<uint64_t>{}, std::optional<uint64_t>{1}, std::optional<uint64_t>{2}}) {
    simt::set_seed(seed);
    cudaGraph_t graph = nullptr;
    CUDA_OK(cudaGraphCreate(&graph, 0));
    // out[0] = 3, then digits 4 (left) and, on a copy in out[1], 5 (right); out[2] is their sum.
    cudaGraphNode_t fill3 = nullptr, right_copy = nullptr, both = nullptr, sum = nullptr, back = nullptr,
                    call = nullptr;
    const cudaMemsetParams three = fill(out_, 3);
    CUDA_OK(cudaGraphAddMemsetNode(&fill3, graph, nullptr, 0, &three));
    CUDA_OK(cudaGraphAddMemcpyNode1D(&right_copy, graph, &fill3, 1, out_ + 1, out_, sizeof(int),
                                     cudaMemcpyDeviceToDevice));
    const cudaGraphNode_t left = add_digit(graph, out_, 4, {right_copy});
    const cudaGraphNode_t right = add_digit(graph, out_ + 1, 5, {right_copy});
    const cudaGraphNode_t ends[] = {left, right};
    CUDA_OK(cudaGraphAddEmptyNode(&both, graph, ends, 2));
    int *target = out_ + 2, *a = out_, *b = out_ + 1;
    void* arguments[] = {&target, &a, &b};
    const cudaKernelNodeParams p = params(add_of, arguments);
    CUDA_OK(cudaGraphAddKernelNode(&sum, graph, &both, 1, &p));
    int host[2] = {};
    CUDA_OK(
        cudaGraphAddMemcpyNode1D(&back, graph, &sum, 1, host, out_ + 2, sizeof(int), cudaMemcpyDeviceToHost));
    const cudaHostNodeParams twice = {
        [](void* data) { static_cast<int*>(data)[1] = 2 * static_cast<int*>(data)[0]; }, host};
    CUDA_OK(cudaGraphAddHostNode(&call, graph, &back, 1, &twice));
    const cudaGraphExec_t exec = instantiate(graph);
    CUDA_OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 4; ++i) {
      host[1] = 0;
      run(exec);
      ASSERT_EQ(host[1], 2 * (34 + 35));
    }
    CUDA_OK(cudaGraphExecDestroy(exec));
  }
}

// An edge may lead from a node to one that was added before it.
TEST_F(GraphNodes, EdgesAreAddedAndRemoved) {
  const cudaGraphNode_t first = add_digit(out_, 1), second = add_digit(out_, 2), third = add_digit(out_, 3);
  const cudaGraphNode_t from[] = {third, second}, to[] = {second, first};
  CUDA_OK(cudaGraphAddDependencies(graph_, from, to, nullptr, 2));
  for (uint64_t seed = 0; seed < 16; ++seed) {
    simt::set_seed(seed);
    ASSERT_EQ(result(), 321);
  }
  CUDA_OK(cudaGraphRemoveDependencies(graph_, from, to, nullptr, 2));
  CUDA_OK(cudaGraphAddDependencies(graph_, to, from, nullptr, 2));
  for (uint64_t seed = 0; seed < 16; ++seed) {
    simt::set_seed(seed);
    ASSERT_EQ(result(), 123);
  }
}

TEST_F(GraphNodes, SomeSeedDetectsAMissingEdge) {
  NOT_UNDER_CHECK();
  const cudaGraphNode_t first = add_digit(out_, 1);
  add_digit(out_, 2);
  add_digit(out_, 3, {first});
  std::set<int> seen;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    simt::set_seed(seed);
    seen.insert(result());
  }
  EXPECT_EQ(seen, (std::set<int>{123, 132, 213}));
}

TEST_F(GraphNodes, ArgumentsAreCopiedWhenTheNodeIsAdded) {
  cudaFuncAttributes attributes;
  CUDA_OK(cudaFuncGetAttributes(&attributes, store_pair));
  double* out = reinterpret_cast<double*>(out_);
  Pair pair = {1, 0.5};
  char more = 2;
  void* arguments[] = {&out, &pair, &more};
  cudaKernelNodeParams p = params(store_pair, arguments);
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &p));
  out = nullptr;
  pair = {100, 100};
  arguments[0] = arguments[1] = arguments[2] = nullptr;
  result();
  EXPECT_EQ(read(reinterpret_cast<double*>(out_)), 3.5);

  // The node's own copy.
  cudaKernelNodeParams got = {};
  CUDA_OK(cudaGraphKernelNodeGetParams(node, &got));
  EXPECT_EQ(got.func, reinterpret_cast<void*>(store_pair));
  EXPECT_EQ(got.extra, nullptr);
  EXPECT_EQ(*static_cast<double**>(got.kernelParams[0]), reinterpret_cast<double*>(out_));
  EXPECT_EQ(static_cast<Pair*>(got.kernelParams[1])->value, 0.5);
  EXPECT_EQ(*static_cast<char*>(got.kernelParams[2]), 2);
  // What it returned sets another node.
  cudaGraphNode_t other = nullptr;
  CUDA_OK(cudaGraphAddKernelNode(&other, graph_, &node, 1, &got));
  CUDA_OK(cudaGraphDestroyNode(node));
  result();
  EXPECT_EQ(read(reinterpret_cast<double*>(out_)), 3.5);
}

TEST_F(GraphNodes, ArgumentsMayBePacked) {
  cudaFuncAttributes attributes;
  CUDA_OK(cudaFuncGetAttributes(&attributes, store_pair));
  struct {
    double* out;
    Pair pair;
    char more;
  } packed = {reinterpret_cast<double*>(out_), {4, 0.25}, 3};
  size_t bytes = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  cudaKernelNodeParams p = params(store_pair, nullptr);
  p.extra = extra;
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &p));
  packed = {};
  result();
  EXPECT_EQ(read(reinterpret_cast<double*>(out_)), 7.25);
  cudaKernelNodeParams got = {};
  CUDA_OK(cudaGraphKernelNodeGetParams(node, &got));
  EXPECT_EQ(got.kernelParams, nullptr);
  ASSERT_EQ(got.extra[0], CU_LAUNCH_PARAM_BUFFER_POINTER);
  double* out = nullptr;
  std::memcpy(&out, got.extra[1], sizeof(out));
  EXPECT_EQ(out, reinterpret_cast<double*>(out_));

  void* both[] = {&out, &packed.pair, &packed.more};
  p.kernelParams = both;
  CUDA_ERROR(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &p), cudaErrorInvalidValue);
  p.kernelParams = nullptr;
  bytes = sizeof(packed) - sizeof(packed.more) - sizeof(packed.pair);
  CUDA_ERROR(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &p), cudaErrorInvalidValue);
  p.extra = nullptr;
  CUDA_ERROR(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &p), cudaErrorInvalidValue);
}

TEST_F(GraphNodes, AKernelNodeThatNoLaunchCouldRunIsRefused) {
  int digit = 1;
  void* arguments[] = {&out_, &digit};
  cudaGraphNode_t node = nullptr;
  const auto refused = [&](const cudaKernelNodeParams& p, cudaError_t error) {
    CUDA_ERROR(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &p), error);
  };
  refused(params(times_ten_plus_digit, arguments, 0), cudaErrorInvalidValue);
  refused(params(times_ten_plus_digit, arguments, 1, 0), cudaErrorInvalidValue);
  refused(params(times_ten_plus_digit, arguments, 1, 1025), cudaErrorInvalidValue);
  cudaKernelNodeParams p = params(times_ten_plus_digit, arguments);
  p.sharedMemBytes = 1u << 20;
  refused(p, cudaErrorInvalidValue);
  p = params(times_ten_plus_digit, arguments);
  p.func = nullptr;
  refused(p, cudaErrorInvalidDeviceFunction);
  CUDA_ERROR(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, nullptr), cudaErrorInvalidValue);
  // Nor does a node take such parameters later.
  const cudaGraphNode_t good = add_digit(out_, 7);
  p = params(times_ten_plus_digit, arguments, 1, 1025);
  CUDA_ERROR(cudaGraphKernelNodeSetParams(good, &p), cudaErrorInvalidValue);
  EXPECT_EQ(result(), 7);
  size_t count = 0;
  CUDA_OK(cudaGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 1u);
}

TEST_F(GraphNodes, TheExecutorNamesAKernelWhoseParametersItDoesNotKnow) {
  if (kInterpreted) GTEST_SKIP() << "the code of a kernel has its parameters";
  void* arguments[] = {&out_};
  const cudaKernelNodeParams p = params(never_named, arguments);
  cudaGraphNode_t node = nullptr;
  testing::internal::CaptureStderr();
  CUDA_ERROR(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &p), cudaErrorInvalidDeviceFunction);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("cudaFuncGetAttributes(&attributes, kernel)"),
            std::string::npos);
}

// Other graphs, nodes that are gone, nodes that are named twice.
TEST_F(GraphNodes, DependenciesAreNodesOfTheSameGraph) {
  cudaGraph_t other = nullptr;
  CUDA_OK(cudaGraphCreate(&other, 0));
  const cudaGraphNode_t here = add_digit(out_, 1), there = add_digit(other, out_, 2);
  const cudaGraphNode_t gone = add_digit(out_, 3);
  CUDA_OK(cudaGraphDestroyNode(gone));
  cudaGraphNode_t node = nullptr;
  const auto refused = [&](Nodes after) {
    CUDA_ERROR(cudaGraphAddEmptyNode(&node, graph_, std::data(after), after.size()), cudaErrorInvalidValue);
  };
  refused({there});
  refused({gone});
  refused({here, here});
  CUDA_ERROR(cudaGraphAddEmptyNode(&node, graph_, nullptr, 1), cudaErrorInvalidValue);
  const cudaGraphNode_t last = add_digit(out_, 4, {here});
  const auto edge_refused = [&](cudaGraphNode_t from, cudaGraphNode_t to) {
    CUDA_ERROR(cudaGraphAddDependencies(graph_, &from, &to, nullptr, 1), cudaErrorInvalidValue);
  };
  edge_refused(here, there);
  edge_refused(there, here);
  edge_refused(gone, here);
  edge_refused(here, last);  // it exists
  CUDA_ERROR(cudaGraphRemoveDependencies(graph_, &last, &here, nullptr, 1), cudaErrorInvalidValue);
  const cudaGraphNode_t twice_from[] = {last, last}, twice_to[] = {here, here};
  CUDA_ERROR(cudaGraphAddDependencies(graph_, twice_from, twice_to, nullptr, 2), cudaErrorInvalidValue);
  CUDA_ERROR(cudaGraphDestroyNode(gone), cudaErrorInvalidValue);
  EXPECT_EQ(result(), 14);  // nothing has changed
  CUDA_OK(cudaGraphDestroy(other));
  cudaGraphNodeType type;
  CUDA_ERROR(cudaGraphNodeGetType(there, &type), cudaErrorInvalidValue);
}

TEST_F(GraphNodes, ACycleIsRefusedWhenTheGraphIsInstantiated) {
  const cudaGraphNode_t first = add_digit(out_, 1), second = add_digit(out_, 2, {first});
  CUDA_OK(cudaGraphAddDependencies(graph_, &second, &first, nullptr, 1));
  cudaGraphExec_t exec = nullptr;
  CUDA_ERROR(cudaGraphInstantiate(&exec, graph_, 0), cudaErrorInvalidValue);
  cudaGraph_t parent = nullptr;
  cudaGraphNode_t child = nullptr;
  CUDA_OK(cudaGraphCreate(&parent, 0));
  CUDA_OK(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph_));
  CUDA_ERROR(cudaGraphInstantiate(&exec, parent, 0), cudaErrorInvalidValue);
  CUDA_OK(cudaGraphDestroy(parent));
  EXPECT_EQ(exec, nullptr);
  CUDA_OK(cudaGraphRemoveDependencies(graph_, &second, &first, nullptr, 1));
  EXPECT_EQ(result(), 12);
}

TEST_F(GraphNodes, ADestroyedNodeTakesItsEdgesAlong) {
  const cudaGraphNode_t first = add_digit(out_, 1), second = add_digit(out_, 2, {first});
  const cudaGraphNode_t third = add_digit(out_, 3, {second});
  CUDA_OK(cudaGraphDestroyNode(second));
  size_t count = 7;
  CUDA_OK(cudaGraphNodeGetDependencies(third, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  CUDA_OK(cudaGraphNodeGetDependentNodes(first, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  CUDA_OK(cudaGraphAddDependencies(graph_, &third, &first, nullptr, 1));
  EXPECT_EQ(result(), 31);
}

TEST_F(GraphNodes, HostNodesCallNoFunctionOfCuda) {
  cudaError_t seen = cudaSuccess;
  const cudaHostNodeParams p = {
      [](void* data) { *static_cast<cudaError_t*>(data) = cudaDeviceSynchronize(); }, &seen};
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddHostNode(&node, graph_, nullptr, 0, &p));
  result();
  EXPECT_EQ(seen, cudaErrorNotPermitted);
  const cudaHostNodeParams nothing = {};
  CUDA_ERROR(cudaGraphAddHostNode(&node, graph_, nullptr, 0, &nothing), cudaErrorInvalidValue);
}

// Each launch records the event again, and waits for the latest record of the other one.
TEST_F(GraphNodes, EventNodesConnectALaunchWithOtherStreams) {
  const cudaEvent_t ready = make_event(), done = make_event();
  const cudaStream_t other = make_stream();
  cudaGraphNode_t wait = nullptr, record = nullptr;
  CUDA_OK(cudaGraphAddEventWaitNode(&wait, graph_, nullptr, 0, ready));
  const cudaGraphNode_t digit = add_digit(out_, 2, {wait});
  CUDA_OK(cudaGraphAddEventRecordNode(&record, graph_, &digit, 1, done));
  const cudaGraphExec_t exec = instantiate();
  const auto config = shape(1, 1, other);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    simt::set_seed(seed);
    zero();
    for (int i = 0; i < 2; ++i) {
      CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus_digit, out_, 1));
      CUDA_OK(cudaEventRecord(ready, other));
      CUDA_OK(cudaGraphLaunch(exec, stream_));
      CUDA_OK(cudaStreamWaitEvent(other, done));
    }
    CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus_digit, out_, 3));
    CUDA_OK(cudaStreamSynchronize(other));
    ASSERT_EQ(read(out_), 12123) << "seed " << seed;
  }
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaStreamDestroy(other));
  CUDA_OK(cudaEventDestroy(ready));
  CUDA_OK(cudaEventDestroy(done));
}

// A block of 2 x 3 x 2 bytes out of 4 x 4 x 3, to the corner of another one.
TEST_F(GraphNodes, CopiesHaveRowsAndSlices) {
  unsigned char from[48], to[40];
  for (int i = 0; i < 48; ++i) from[i] = static_cast<unsigned char>(i);
  std::memset(to, 99, sizeof(to));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(from, 4, 4, 4);
  p.srcPos = make_cudaPos(1, 1, 1);
  p.dstPtr = make_cudaPitchedPtr(out_, 5, 5, 3);
  p.extent = make_cudaExtent(2, 3, 2);
  p.kind = cudaMemcpyHostToDevice;
  cudaGraphNode_t node = nullptr, back = nullptr;
  static_assert(sizeof(to) > 5 * 3 * 2);
  CUDA_OK(cudaGraphAddMemcpyNode(&node, graph_, nullptr, 0, &p));
  CUDA_OK(cudaGraphAddMemcpyNode1D(&back, graph_, &node, 1, to, out_, 32, cudaMemcpyDefault));
  result();
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 5; ++x)
        ASSERT_EQ(to[(z * 3 + y) * 5 + x], x < 2 ? from[((z + 1) * 4 + y + 1) * 4 + x + 1] : 0)
            << x << y << z;
  EXPECT_EQ(to[32], 99);

  cudaMemcpy3DParms got = {};
  CUDA_OK(cudaGraphMemcpyNodeGetParams(node, &got));
  EXPECT_EQ(got.srcPtr.ptr, from + 21);
  EXPECT_EQ(got.extent.width, 2u);
  EXPECT_EQ(got.extent.depth, 2u);
  EXPECT_EQ(got.kind, cudaMemcpyHostToDevice);
  // What is got can be set.
  std::memset(to, 0, sizeof(to));
  CUDA_OK(cudaGraphMemcpyNodeSetParams(node, &got));
  result();
  EXPECT_EQ(to[5 * 5 + 1], 46);

  const auto refused = [&](const cudaMemcpy3DParms& wrong) {
    CUDA_ERROR(cudaGraphAddMemcpyNode(&node, graph_, nullptr, 0, &wrong), cudaErrorInvalidValue);
  };
  cudaMemcpy3DParms wrong = p;
  wrong.dstPtr.pitch = 1;
  refused(wrong);
  wrong = p;
  wrong.extent.depth = 3;  // 2 * 15 + 10 + 2 = 42 bytes
  refused(wrong);
  wrong = p;
  wrong.kind = cudaMemcpyDeviceToDevice;
  refused(wrong);
}

TEST_F(GraphNodes, FillsHaveElementsAndRows) {
  const auto fill_of = [&](unsigned element, size_t width, size_t height, size_t pitch) {
    cudaMemsetParams p = {};
    p.dst = out_;
    p.value = 0x04030201;
    p.elementSize = element;
    p.width = width;
    p.height = height;
    p.pitch = pitch;
    return p;
  };
  cudaGraphNode_t node = nullptr;
  cudaMemsetParams p = fill_of(1, 3, 1, 0);
  CUDA_OK(cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &p));
  EXPECT_EQ(result(), 0x00010101);
  p = fill_of(2, 1, 2, 4);
  CUDA_OK(cudaGraphMemsetNodeSetParams(node, &p));
  EXPECT_EQ(result(), 0x0201);
  EXPECT_EQ(read(out_ + 1), 0x0201);
  p = fill_of(4, 2, 1, 0);
  CUDA_OK(cudaGraphMemsetNodeSetParams(node, &p));
  EXPECT_EQ(result(), 0x04030201);
  EXPECT_EQ(read(out_ + 1), 0x04030201);
  EXPECT_EQ(read(out_ + 2), 0);
  cudaMemsetParams got = {};
  CUDA_OK(cudaGraphMemsetNodeGetParams(node, &got));
  EXPECT_EQ(got.dst, out_);
  EXPECT_EQ(got.value, 0x04030201u);
  EXPECT_EQ(got.elementSize, 4u);
  EXPECT_EQ(got.width, 2u);
  for (const cudaMemsetParams& wrong : {fill_of(3, 1, 1, 0), fill_of(4, 9, 1, 0), fill_of(4, 2, 2, 4)})
    CUDA_ERROR(cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &wrong), cudaErrorInvalidValue);
}

TEST_F(GraphNodes, AGraphTellsItsNodesAndEdges) {
  const cudaGraphNode_t first = add_digit(out_, 1), second = add_fill(out_ + 1, 2);
  const cudaGraphNode_t third = add_digit(out_, 3, {first, second});
  using List = std::vector<cudaGraphNode_t>;
  const auto all = [](const auto& query) {
    size_t count = 0;
    EXPECT_EQ(query(nullptr, &count), cudaSuccess);
    List longer(count + 1, reinterpret_cast<cudaGraphNode_t>(1));
    size_t room = longer.size();
    EXPECT_EQ(query(longer.data(), &room), cudaSuccess);
    EXPECT_EQ(room, count);
    EXPECT_EQ(longer.back(), nullptr);  // the entries that are left
    longer.pop_back();
    if (count > 1) {
      List one(2, nullptr);
      room = 1;
      EXPECT_EQ(query(one.data(), &room), cudaSuccess);
      EXPECT_EQ(room, 1u);
      EXPECT_EQ(one, (List{longer[0], nullptr}));
    }
    return longer;
  };
  const auto nodes = [&](cudaGraphNode_t* list, size_t* count) {
    return cudaGraphGetNodes(graph_, list, count);
  };
  const auto roots = [&](cudaGraphNode_t* list, size_t* count) {
    return cudaGraphGetRootNodes(graph_, list, count);
  };
  EXPECT_EQ(all(nodes), (List{first, second, third}));
  EXPECT_EQ(all(roots), (List{first, second}));
  EXPECT_EQ(all([&](cudaGraphNode_t* list, size_t* count) {
              return cudaGraphNodeGetDependencies(third, list, nullptr, count);
            }),
            (List{first, second}));
  EXPECT_EQ(all([&](cudaGraphNode_t* list, size_t* count) {
              return cudaGraphNodeGetDependentNodes(second, list, nullptr, count);
            }),
            (List{third}));
  List from(3), to(3);
  cudaGraphEdgeData data[3];
  std::memset(data, 1, sizeof(data));
  size_t count = 3;
  CUDA_OK(cudaGraphGetEdges(graph_, from.data(), to.data(), data, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(from, (List{first, second, nullptr}));
  EXPECT_EQ(to, (List{third, third, nullptr}));
  EXPECT_EQ(data[1].type + data[1].from_port + data[1].to_port, 0);
  CUDA_ERROR(cudaGraphGetEdges(graph_, from.data(), nullptr, nullptr, &count), cudaErrorInvalidValue);
  cudaGraphNodeType type;
  CUDA_OK(cudaGraphNodeGetType(second, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  cudaKernelNodeParams p = {};
  CUDA_ERROR(cudaGraphKernelNodeGetParams(second, &p), cudaErrorInvalidValue);
}

TEST_F(GraphNodes, AnEmptyGraphRuns) { EXPECT_EQ(result(), 0); }

}  // namespace
}  // namespace simt_test
