// Graphs that change: clones, child graphs, executable graphs with other parameters, and captures into
// graphs.
#include "graph_nodes.h"

namespace simt_test {
namespace {

using GraphUpdates = GraphNodes;

TEST_F(GraphUpdates, AnExecutableGraphKeepsWhatItWasMadeOf) {
  const cudaGraphNode_t first = add_digit(out_, 1), second = add_digit(out_, 2, {first});
  const cudaGraphExec_t exec = instantiate();
  CUDA_OK(set_digit(first, out_, 8));
  add_digit(out_, 3, {second});
  EXPECT_EQ(run(exec), 12);
  EXPECT_EQ(result(), 823);
  CUDA_OK(cudaGraphDestroyNode(second));
  EXPECT_EQ(run(exec), 12);
  CUDA_OK(cudaGraphDestroy(graph_));
  graph_ = nullptr;
  EXPECT_EQ(run(exec), 12);
  CUDA_OK(cudaGraphExecDestroy(exec));
}

TEST_F(GraphUpdates, NewParametersHoldForLaterLaunches) {
  const cudaGraphNode_t first = add_digit(out_, 1);
  int seen[] = {0, 0};
  const auto note = [](void* data) { ++*static_cast<int*>(data); };
  const cudaHostNodeParams zeroth = {note, seen}, other = {note, seen + 1};
  cudaGraphNode_t call = nullptr, copy = nullptr;
  CUDA_OK(cudaGraphAddHostNode(&call, graph_, &first, 1, &zeroth));
  const cudaGraphNode_t last = add_fill(out_ + 1, 5, {call});
  CUDA_OK(cudaGraphAddMemcpyNode1D(&copy, graph_, &last, 1, out_ + 2, out_ + 1, sizeof(int),
                                   cudaMemcpyDeviceToDevice));
  const cudaGraphExec_t exec = instantiate();
  Gate gate;
  gate.hold(stream_);
  CUDA_OK(cudaGraphLaunch(exec, stream_));  // not begun
  CUDA_OK(set_digit(first, out_, 2, exec));
  CUDA_OK(cudaGraphExecHostNodeSetParams(exec, call, &other));
  const cudaMemsetParams six = fill(out_ + 1, 6);
  CUDA_OK(cudaGraphExecMemsetNodeSetParams(exec, last, &six));
  CUDA_OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, out_ + 3, out_ + 1, sizeof(int),
                                             cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaGraphLaunch(exec, stream_));
  gate.open();
  CUDA_OK(cudaStreamSynchronize(stream_));
  EXPECT_EQ(read(out_), 12);
  EXPECT_EQ(seen[0], 1);
  EXPECT_EQ(seen[1], 1);
  EXPECT_EQ(read(out_ + 1), 6);
  EXPECT_EQ(read(out_ + 2), 5);
  EXPECT_EQ(read(out_ + 3), 6);
  EXPECT_EQ(result(), 1);  // the graph is as it was
  CUDA_OK(cudaGraphExecDestroy(exec));
}

TEST_F(GraphUpdates, NewParametersStayOnTheDeviceAndInTheShape) {
  const cudaGraphNode_t digit = add_digit(out_, 1), filled = add_fill(out_ + 1, 5);
  cudaGraphNode_t copy = nullptr, call = nullptr;
  CUDA_OK(cudaGraphAddMemcpyNode1D(&copy, graph_, nullptr, 0, out_ + 2, out_ + 3, sizeof(int),
                                   cudaMemcpyDeviceToDevice));
  const cudaHostNodeParams nothing = {[](void*) {}, nullptr};
  CUDA_OK(cudaGraphAddHostNode(&call, graph_, nullptr, 0, &nothing));
  const cudaGraphExec_t exec = instantiate();
  CUDA_OK(cudaSetDevice(1));
  int* const far = allocate<int>(4);
  CUDA_ERROR(set_digit(digit, far, 2, exec), cudaErrorInvalidValue);
  CUDA_OK(cudaSetDevice(0));
  cudaMemsetParams p = fill(far, 5);
  CUDA_ERROR(cudaGraphExecMemsetNodeSetParams(exec, filled, &p), cudaErrorInvalidValue);
  p = fill(out_, 5);
  p.height = 2;
  p.pitch = 4;
  CUDA_ERROR(cudaGraphExecMemsetNodeSetParams(exec, filled, &p), cudaErrorInvalidValue);
  CUDA_ERROR(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, far, out_, sizeof(int), cudaMemcpyDefault),
             cudaErrorInvalidValue);
  cudaMemcpy3DParms rows = {};
  rows.srcPtr = make_cudaPitchedPtr(out_, 4, 4, 2);
  rows.dstPtr = make_cudaPitchedPtr(out_ + 4, 4, 4, 2);
  rows.extent = make_cudaExtent(4, 2, 1);
  rows.kind = cudaMemcpyDeviceToDevice;
  CUDA_ERROR(cudaGraphExecMemcpyNodeSetParams(exec, copy, &rows), cudaErrorInvalidValue);
  // A node of another kind, of another graph, and one that was added later.
  CUDA_ERROR(cudaGraphExecHostNodeSetParams(exec, digit, &nothing), cudaErrorInvalidValue);
  CUDA_ERROR(set_digit(call, out_, 2, exec), cudaErrorInvalidValue);
  CUDA_ERROR(set_digit(add_digit(out_, 1), out_, 2, exec), cudaErrorInvalidValue);
  EXPECT_EQ(run(exec), 1);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaFree(far));
}

TEST_F(GraphUpdates, AFillOfSeveralRowsKeepsItsShape) {
  cudaMemsetParams p = fill(out_, 5);
  p.height = 2;
  p.pitch = 8;
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddMemsetNode(&node, graph_, nullptr, 0, &p));
  const cudaGraphExec_t exec = instantiate();
  const auto refused = [&](const cudaMemsetParams& wrong) {
    CUDA_ERROR(cudaGraphExecMemsetNodeSetParams(exec, node, &wrong), cudaErrorInvalidValue);
  };
  cudaMemsetParams wrong = p;
  wrong.pitch = 4;
  refused(wrong);
  wrong = p;
  wrong.width = 2;
  refused(wrong);
  wrong = p;
  wrong.elementSize = 2;
  refused(wrong);
  wrong = p;
  wrong.height = 1;
  refused(wrong);
  p.value = 6;
  CUDA_OK(cudaGraphExecMemsetNodeSetParams(exec, node, &p));
  EXPECT_EQ(run(exec), 6);
  EXPECT_EQ(read(out_ + 1), 0);
  EXPECT_EQ(read(out_ + 2), 6);
  CUDA_OK(cudaGraphExecDestroy(exec));
}

TEST_F(GraphUpdates, ACloneIsAGraphOfItsOwn) {
  const cudaGraphNode_t first = add_digit(out_, 1), second = add_digit(out_, 2, {first});
  cudaGraph_t clone = nullptr;
  CUDA_OK(cudaGraphClone(&clone, graph_));
  cudaGraphNode_t twin = nullptr, none = nullptr;
  CUDA_OK(cudaGraphNodeFindInClone(&twin, second, clone));
  EXPECT_NE(twin, second);
  CUDA_OK(set_digit(twin, out_, 5));
  CUDA_OK(set_digit(first, out_, 7));
  EXPECT_EQ(result(), 72);
  EXPECT_EQ(result(clone), 15);
  const cudaGraphNode_t later = add_digit(out_, 3, {second});
  CUDA_ERROR(cudaGraphNodeFindInClone(&none, later, clone), cudaErrorInvalidValue);
  CUDA_ERROR(cudaGraphNodeFindInClone(&none, second, graph_), cudaErrorInvalidValue);
  CUDA_OK(cudaGraphDestroy(clone));
  CUDA_ERROR(cudaGraphNodeFindInClone(&none, first, clone), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(set_digit(twin, out_, 5), cudaErrorInvalidValue);
}

// What comes before a child graph comes before all its nodes, and what comes after it after all of them.
TEST_F(GraphUpdates, AChildGraphRunsAsOneNode) {
  cudaGraph_t inner = nullptr, embedded = nullptr;
  CUDA_OK(cudaGraphCreate(&inner, 0));
  const cudaGraphNode_t left = add_digit(inner, out_, 2);
  add_digit(inner, out_ + 1, 3);
  const cudaGraphNode_t before = add_digit(out_, 1);
  cudaGraphNode_t child = nullptr, copied = nullptr, empty = nullptr;
  CUDA_OK(cudaGraphAddChildGraphNode(&child, graph_, &before, 1, inner));
  CUDA_OK(set_digit(left, out_, 9));  // the child was cloned before
  int *target = out_, *a = out_, *b = out_ + 1;
  void* arguments[] = {&target, &a, &b};
  const cudaKernelNodeParams p = params(add_of, arguments);
  cudaGraphNode_t sum = nullptr;
  CUDA_OK(cudaGraphAddKernelNode(&sum, graph_, &child, 1, &p));
  for (uint64_t seed = 0; seed < 16; ++seed) {
    simt::set_seed(seed);
    ASSERT_EQ(result(), 12 + 3) << "seed " << seed;
  }
  const cudaGraphExec_t exec = instantiate();
  CUDA_OK(cudaGraphChildGraphNodeGetGraph(child, &embedded));
  CUDA_OK(cudaGraphNodeFindInClone(&copied, left, embedded));
  CUDA_OK(set_digit(copied, out_, 4));
  EXPECT_EQ(result(), 14 + 3);
  CUDA_OK(set_digit(copied, out_, 6, exec));
  EXPECT_EQ(run(exec), 16 + 3);
  CUDA_ERROR(cudaGraphDestroy(embedded), cudaErrorInvalidValue);  // it belongs to the node
  CUDA_OK(cudaGraphDestroy(inner));
  cudaGraph_t nothing = nullptr;
  CUDA_OK(cudaGraphCreate(&nothing, 0));
  CUDA_OK(cudaGraphAddChildGraphNode(&empty, graph_, &sum, 1, nothing));
  add_digit(out_, 5, {empty});
  EXPECT_EQ(result(), 175);
  CUDA_OK(cudaGraphDestroy(nothing));
  CUDA_OK(cudaGraphExecDestroy(exec));
}

TEST_F(GraphUpdates, AnExecutableGraphTakesTheParametersOfAGraphWithTheSameNodes) {
  const auto build = [&](cudaGraph_t graph, int first, int last, int* out) {
    cudaGraph_t inner = nullptr;
    CUDA_OK(cudaGraphCreate(&inner, 0));
    add_digit(inner, out, last);
    cudaGraphNode_t child = nullptr;
    const cudaGraphNode_t before = add_digit(graph, out, first);
    CUDA_OK(cudaGraphAddChildGraphNode(&child, graph, &before, 1, inner));
    CUDA_OK(cudaGraphDestroy(inner));
  };
  build(graph_, 1, 2, out_);
  const cudaGraphExec_t exec = instantiate();
  cudaGraph_t other = nullptr;
  CUDA_OK(cudaGraphCreate(&other, 0));
  build(other, 3, 4, out_);
  cudaGraphExecUpdateResultInfo info = {};
  info.result = cudaGraphExecUpdateError;
  CUDA_OK(cudaGraphExecUpdate(exec, other, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  EXPECT_EQ(run(exec), 34);
  EXPECT_EQ(result(), 12);
  CUDA_OK(cudaGraphDestroy(other));
  EXPECT_EQ(run(exec), 34);
  CUDA_OK(cudaGraphExecDestroy(exec));
}

TEST_F(GraphUpdates, AnUpdateThatIsRefusedChangesNothing) {
  const cudaGraphNode_t first = add_digit(out_, 1), second = add_digit(out_, 2, {first});
  add_fill(out_ + 1, 3, {second});
  const cudaGraphExec_t exec = instantiate();
  const auto refused = [&](cudaGraphExecUpdateResult result, bool names_node, const auto& build) {
    cudaGraph_t other = nullptr;
    CUDA_OK(cudaGraphCreate(&other, 0));
    build(other);
    cudaGraphExecUpdateResultInfo info = {};
    CUDA_ERROR(cudaGraphExecUpdate(exec, other, &info), cudaErrorGraphExecUpdateFailure);
    EXPECT_EQ(info.result, result);
    EXPECT_EQ(info.errorNode != nullptr, names_node);
    EXPECT_EQ(run(exec), 12);
    CUDA_OK(cudaGraphDestroy(other));
  };
  const auto add = [&](cudaGraph_t graph, int* out, Nodes after) {
    const cudaMemsetParams p = fill(out, 4);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph, std::data(after), after.size(), &p), cudaSuccess);
  };
  refused(cudaGraphExecUpdateErrorTopologyChanged, false,
          [&](cudaGraph_t graph) { add_digit(graph, out_, 5); });
  refused(cudaGraphExecUpdateErrorTopologyChanged, true, [&](cudaGraph_t graph) {  // two last nodes
    const cudaGraphNode_t node = add_digit(graph, out_, 5);
    add_digit(graph, out_, 6, {node});
    add(graph, out_ + 1, {node});
  });
  refused(cudaGraphExecUpdateErrorTopologyChanged, true, [&](cudaGraph_t graph) {  // one more edge
    const cudaGraphNode_t a = add_digit(graph, out_, 5), b = add_digit(graph, out_, 6, {a});
    add(graph, out_ + 1, {b, a});
  });
  refused(cudaGraphExecUpdateErrorNodeTypeChanged, true, [&](cudaGraph_t graph) {
    const cudaGraphNode_t a = add_digit(graph, out_, 5), b = add_digit(graph, out_, 6, {a});
    add_digit(graph, out_ + 1, 4, {b});
  });
  CUDA_OK(cudaSetDevice(1));
  int* const far = allocate<int>(1);
  CUDA_OK(cudaSetDevice(0));
  refused(cudaGraphExecUpdateErrorParametersChanged, true, [&](cudaGraph_t graph) {
    const cudaGraphNode_t a = add_digit(graph, out_, 5), b = add_digit(graph, out_, 6, {a});
    add(graph, far, {b});
  });
  refused(cudaGraphExecUpdateErrorUnsupportedFunctionChange, true, [&](cudaGraph_t graph) {
    const cudaGraphNode_t a = add_digit(graph, out_, 5);
    CUDA_OK(cudaSetDevice(1));
    const cudaGraphNode_t b = add_digit(graph, out_, 6, {a});
    CUDA_OK(cudaSetDevice(0));
    add(graph, out_ + 1, {b});
  });
  CUDA_OK(cudaFree(far));
  CUDA_OK(cudaGraphExecDestroy(exec));
}

// Captured nodes are nodes like others.
TEST_F(GraphUpdates, CapturedNodesCanBeAskedAndChanged) {
  cudaGraph_t captured = nullptr;
  const auto config = shape(1, 1, stream_);
  int called = 0;
  const auto note = [](void* data) { ++*static_cast<int*>(data); };
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  CUDA_OK(cudaMemsetAsync(out_, 0, sizeof(int), stream_));
  CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus_digit, out_, 3));
  CUDA_OK(cudaMemcpyAsync(out_ + 1, out_, sizeof(int), cudaMemcpyDeviceToDevice, stream_));
  CUDA_OK(cudaLaunchHostFunc(stream_, note, &called));
  CUDA_OK(cudaStreamEndCapture(stream_, &captured));
  cudaGraphNode_t nodes[4];
  size_t count = 4;
  CUDA_OK(cudaGraphGetNodes(captured, nodes, &count));
  ASSERT_EQ(count, 4u);
  constexpr cudaGraphNodeType kTypes[] = {cudaGraphNodeTypeMemset, cudaGraphNodeTypeKernel,
                                          cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost};
  for (int i = 0; i < 4; ++i) {
    cudaGraphNodeType type;
    CUDA_OK(cudaGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, kTypes[i]);
  }
  cudaMemcpy3DParms copy = {};
  CUDA_OK(cudaGraphMemcpyNodeGetParams(nodes[2], &copy));
  EXPECT_EQ(copy.dstPtr.ptr, out_ + 1);
  EXPECT_EQ(copy.extent.width, sizeof(int));
  cudaHostNodeParams host = {};
  CUDA_OK(cudaGraphHostNodeGetParams(nodes[3], &host));
  EXPECT_EQ(host.userData, &called);
  cudaKernelNodeParams kernel = {};
  CUDA_OK(cudaGraphKernelNodeGetParams(nodes[1], &kernel));
  EXPECT_EQ(*static_cast<int*>(kernel.kernelParams[1]), 3);
  int digit = 6;
  kernel.kernelParams[1] = &digit;
  const cudaGraphExec_t exec = instantiate(captured);
  CUDA_OK(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &kernel));
  EXPECT_EQ(run(exec), 6);
  EXPECT_EQ(read(out_ + 1), 6);
  EXPECT_EQ(called, 1);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(captured));
}

// New parameters leave the attributes of a launch as they were: a cluster of two blocks does not divide
// three.
TEST_F(GraphUpdates, ACapturedClusterKeepsItsSize) {
  cudaGraph_t captured = nullptr;
  auto config = shape(2, 1, stream_);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  CUDA_OK(cudaLaunchKernelEx(&config, add_of, out_, out_, out_));
  CUDA_OK(cudaStreamEndCapture(stream_, &captured));
  cudaGraphNode_t node = nullptr;
  size_t count = 1;
  CUDA_OK(cudaGraphGetNodes(captured, &node, &count));
  const cudaGraphExec_t exec = instantiate(captured);
  cudaKernelNodeParams p = {};
  CUDA_OK(cudaGraphKernelNodeGetParams(node, &p));
  for (const unsigned grid : {3u, 4u}) {
    const cudaError_t expected = grid == 4 ? cudaSuccess : cudaErrorInvalidValue;
    p.gridDim = dim3(grid);
    EXPECT_EQ(cudaGraphExecKernelNodeSetParams(exec, node, &p), expected);
    EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &p), expected);
    CUDA_OK(cudaGraphKernelNodeGetParams(node, &p));  // its own arguments, which have moved
  }
  EXPECT_EQ(p.gridDim.x, 4u);
  cudaGetLastError();
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(captured));
}

TEST_F(GraphUpdates, ACooperativeNodeStaysCooperative) {
  const auto captured = [&](int cooperative) {
    cudaGraph_t graph = nullptr;
    auto config = shape(1, 1, stream_);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = cooperative;
    config.attrs = &attribute;
    config.numAttrs = 1;
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(cudaLaunchKernelEx(&config, times_ten_plus_digit, out_, 1 + cooperative), cudaSuccess);
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    return graph;
  };
  cudaGraph_t plain = captured(0), cooperative = captured(1);
  const cudaGraphExec_t exec = instantiate(plain);
  cudaGraphExecUpdateResultInfo info = {};
  CUDA_ERROR(cudaGraphExecUpdate(exec, cooperative, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorAttributesChanged);
  EXPECT_EQ(run(exec), 1);
  EXPECT_EQ(result(cooperative), 2);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(plain));
  CUDA_OK(cudaGraphDestroy(cooperative));
}

TEST_F(GraphUpdates, ACaptureMayGoIntoAGraph) {
  const cudaGraphNode_t first = add_digit(out_, 1);
  const auto config = shape(1, 1, stream_);
  CUDA_OK(cudaStreamBeginCaptureToGraph(stream_, graph_, &first, nullptr, 1, cudaStreamCaptureModeGlobal));
  CUDA_ERROR(cudaGraphDestroyNode(first), cudaErrorInvalidValue);
  CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus_digit, out_, 2));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t into = nullptr, ended = nullptr;
  const cudaGraphNode_t* tail = nullptr;
  size_t count = 0;
  CUDA_OK(cudaStreamGetCaptureInfo(stream_, &status, nullptr, &into, &tail, nullptr, &count));
  EXPECT_EQ(into, graph_);
  ASSERT_EQ(count, 1u);
  // A node that the program itself adds in between.
  cudaGraphNode_t own = add_digit(out_, 3, {tail[0]});
  CUDA_OK(cudaStreamUpdateCaptureDependencies(stream_, &own, nullptr, 1, cudaStreamSetCaptureDependencies));
  CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus_digit, out_, 4));
  CUDA_OK(cudaStreamEndCapture(stream_, &ended));
  EXPECT_EQ(ended, graph_);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    simt::set_seed(seed);
    ASSERT_EQ(result(), 1234);
  }
  CUDA_ERROR(cudaStreamUpdateCaptureDependencies(stream_, &own, nullptr, 1, 0), cudaErrorIllegalState);
}

// A capture that fails leaves the program's graph, and takes its own one along.
TEST_F(GraphUpdates, AFailedCaptureLeavesNoGraphOfItsOwn) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr, into = nullptr;
  const auto config = shape(1, 1, stream_);
  const auto fail = [&] {
    CUDA_OK(cudaLaunchKernelEx(&config, times_ten_plus_digit, out_, 2));
    CUDA_OK(cudaStreamGetCaptureInfo(stream_, &status, nullptr, &into));
    CUDA_ERROR(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
    CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  };
  size_t count = 0;
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  fail();
  CUDA_ERROR(cudaGraphGetNodes(into, nullptr, &count), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaStreamBeginCaptureToGraph(stream_, graph_, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  fail();
  EXPECT_EQ(into, graph_);
  CUDA_OK(cudaGraphGetNodes(graph_, nullptr, &count));
}

}  // namespace
}  // namespace simt_test
