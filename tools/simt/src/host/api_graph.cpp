// Graphs: instantiation and launch.
#include <algorithm>

#include "runtime.h"

namespace simt {

// A launch is a begin marker, one task per node, and an end marker, which the stream's next operation waits
// for.
void Runtime::launch_graph(const std::shared_ptr<Stream>& stream, GraphExec& exec) {
  const std::vector<Node>& nodes = exec.graph->nodes;
  if (stream->capture) {  // a graph launched inside a capture: its nodes are copied
    const int offset = static_cast<int>(stream->capture->graph->nodes.size());
    const std::vector<int> before = stream->captured_tail;
    for (const Node& node : nodes) {
      Node copy = node;
      for (int& predecessor : copy.predecessors) predecessor += offset;
      stream->captured_tail = copy.predecessors.empty() ? before : std::vector<int>{};
      add_node(stream, std::move(copy));
    }
    stream->captured_tail = nodes.empty() ? before : exec.leaves;
    if (!nodes.empty())
      for (int& leaf : stream->captured_tail) leaf += offset;
    return;
  }
  forbid_implicit_dependency(*stream);

  order_marker(*stream, &exec.after);
  std::vector<Clock> after_nodes;
  Clock after_graph = stream->after;
  const StreamName name = {stream->device, stream->number};

  std::vector<TaskPtr> tasks;
  std::vector<Scheduler::Edge> edges;
  tasks.reserve(nodes.size() + 2);
  const auto begin = std::make_shared<Task>();
  const auto end = std::make_shared<Task>();
  for (TaskPtr& task : predecessors(*stream)) edges.push_back({std::move(task), begin});
  if (exec.last && !exec.last->finished()) edges.push_back({exec.last, begin});
  TaskPtr& last = queue(*stream);
  if (last) edges.push_back({last, begin});
  for (const Node& node : nodes) {
    const TaskPtr task = make_task(node.operation);
    if (node.predecessors.empty()) edges.push_back({begin, task});
    for (const int before : node.predecessors) edges.push_back({tasks[static_cast<size_t>(before)], task});
    if (node.awaited && node.awaited->task) edges.push_back({node.awaited->task, task});
    if (order.on()) {
      Clock clock = stream->after;
      for (const int before : node.predecessors) clock.join(after_nodes[static_cast<size_t>(before)]);
      if (node.awaited) clock.join(node.awaited->after);
      if (task->operation) task->issued = order.issue(clock, *task->operation, name);
      if (node.recorded) node.recorded->after = clock;
      after_graph.join(clock);
      after_nodes.push_back(std::move(clock));
    }
    if (node.recorded) {
      node.recorded->task = task;
      node.recorded->capture = nullptr;
    }
    tasks.push_back(task);
  }
  for (const int leaf : exec.leaves) edges.push_back({tasks[static_cast<size_t>(leaf)], end});
  if (nodes.empty()) edges.push_back({begin, end});
  tasks.push_back(begin);
  tasks.push_back(end);
  end->backlog = stream->backlog;  // a launch counts as one operation, whatever the graph contains
  ++end->backlog->unfinished;
  scheduler.submit(tasks, edges);
  stream->tail.assign(1, end);
  last = end;
  exec.last = end;
  stream->after = exec.after = after_graph;
  for (const int device : exec.devices) {
    if (device == stream->device) continue;
    auto& strays = devices[static_cast<size_t>(device)]->strays;
    std::erase_if(strays, [](const TaskPtr& task) { return task->finished(); });
    strays.push_back(end);
    devices[static_cast<size_t>(device)]->after_others.join(after_graph);
  }
}

void Runtime::take_memory(GraphExec& exec, int shares) {
  for (; exec.shares < shares; ++exec.shares) {
    for (size_t i = 0; i < exec.devices.size(); ++i) {
      if (memory.reserve(exec.devices[i], exec.nodes[i] * exec.node_bytes) == cudaSuccess) continue;
      while (i-- > 0) memory.give_back(exec.devices[i], exec.nodes[i] * exec.node_bytes);
      throw Failure{cudaErrorMemoryAllocation};
    }
  }
}

void Runtime::give_back_memory(GraphExec& exec) {
  for (; exec.shares > 0; --exec.shares)
    for (size_t i = 0; i < exec.devices.size(); ++i)
      memory.give_back(exec.devices[i], exec.nodes[i] * exec.node_bytes);
}

}  // namespace simt

using namespace simt;

// Returns the number of nodes only; nodes have no handles here.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api([&](Runtime& runtime) {
    require(count, cudaErrorInvalidValue);
    require(!nodes, cudaErrorNotSupported);
    std::lock_guard lock(runtime.mutex);
    *count = runtime.graphs.get(graph)->nodes.size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* handle, cudaGraph_t graph, unsigned long long flags) {
  return api([&](Runtime& runtime) {
    require(handle, cudaErrorInvalidValue);
    require(flags == 0, cudaErrorNotSupported);
    std::lock_guard lock(runtime.mutex);
    auto exec = std::make_shared<GraphExec>();
    exec->graph = runtime.graphs.get(graph);  // shared, because a captured graph never changes
    runtime.refuse_staged_copies(*exec->graph, StagedGraphCopies::not_instantiated);
    const std::vector<Node>& nodes = exec->graph->nodes;
    std::vector<bool> inner(nodes.size());
    for (const Node& node : nodes) {
      for (const int before : node.predecessors) inner[static_cast<size_t>(before)] = true;
      if (!node.operation) continue;
      const auto found = std::find(exec->devices.begin(), exec->devices.end(), node.operation->device);
      const auto index = static_cast<size_t>(found - exec->devices.begin());
      if (found == exec->devices.end()) {
        exec->devices.push_back(node.operation->device);
        exec->nodes.push_back(0);
      }
      ++exec->nodes[index];
    }
    for (size_t i = 0; i < nodes.size(); ++i)
      if (!inner[i]) exec->leaves.push_back(static_cast<int>(i));
    exec->node_bytes = simt::settings().graph_node_bytes;
    runtime.take_memory(*exec, 1);
    runtime.execs.add(std::move(exec), handle);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const auto executable = runtime.execs.get(exec);
    const auto on = runtime.stream(stream);
    require(!on->capture, cudaErrorStreamCaptureUnsupported);
    runtime.take_memory(*executable, 2);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return api([&](Runtime& runtime) {
    {
      std::unique_lock lock(runtime.mutex);
      const auto on = runtime.stream_with_room(lock, stream, "a graph launch");
      const auto executable = runtime.execs.get(exec);
      runtime.refuse_staged_copies(*executable->graph, StagedGraphCopies::not_launched);
      if (!on->capture) runtime.take_memory(*executable, 2);
      runtime.launch_graph(on, *executable);
    }
    runtime.scheduler.throttle();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    runtime.give_back_memory(*runtime.execs.take(exec));
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return destroy<&Runtime::graphs>(graph); }
