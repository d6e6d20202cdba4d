// Graphs as a whole: creation, instantiation and launch.
#include <algorithm>

#include "runtime.h"

namespace simt {

// A launch is a begin marker, one task per step, and an end marker, which the stream's next operation waits
// for.
void Runtime::launch_graph(const std::shared_ptr<Stream>& stream, GraphExec& exec) {
  if (stream->capture) return capture_launch(stream, exec);
  forbid_implicit_dependency(*stream);

  order_marker(*stream, &exec.after);
  std::vector<Clock> after_steps;
  Clock after_graph = stream->after;
  const StreamName name = {stream->device, stream->number};

  std::vector<TaskPtr> tasks;
  std::vector<Scheduler::Edge> edges;
  tasks.reserve(exec.steps.size() + 2);
  const auto begin = std::make_shared<Task>();
  const auto end = std::make_shared<Task>();
  for (TaskPtr& task : predecessors(*stream)) edges.push_back({std::move(task), begin});
  if (exec.last && !exec.last->finished()) edges.push_back({exec.last, begin});
  TaskPtr& last = queue(*stream);
  if (last) edges.push_back({last, begin});
  static const Node end_of_child;
  for (const GraphStep& step : exec.steps) {
    const Node& node = step.node ? *step.node : end_of_child;
    const TaskPtr task = make_task(node.operation);
    if (step.predecessors.empty()) edges.push_back({begin, task});
    for (const int before : step.predecessors) edges.push_back({tasks[static_cast<size_t>(before)], task});
    if (node.awaited && node.awaited->task) edges.push_back({node.awaited->task, task});
    if (order.on()) {
      Clock clock = stream->after;
      for (const int before : step.predecessors) clock.join(after_steps[static_cast<size_t>(before)]);
      if (node.awaited) clock.join(node.awaited->after);
      if (task->operation) task->issued = order.issue(clock, *task->operation, name);
      if (node.recorded) node.recorded->after = clock;
      after_graph.join(clock);
      after_steps.push_back(std::move(clock));
    }
    if (node.recorded) {
      node.recorded->task = task;
      node.recorded->capture = nullptr;
    }
    tasks.push_back(task);
  }
  for (const int leaf : exec.leaves) edges.push_back({tasks[static_cast<size_t>(leaf)], end});
  if (exec.steps.empty()) edges.push_back({begin, end});
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

cudaGraph_t Runtime::handle_of(const std::shared_ptr<Graph>& graph) {
  if (!graph->handle) graphs.add(graph, &graph->handle);
  return graph->handle;
}

void Runtime::forget(Graph& graph) {
  for (const auto& node : graph.nodes) {
    nodes.forget(*node);
    if (node->child) forget(*node->child);
  }
  if (graph.handle) graphs.take(graph.handle);
  graph.handle = nullptr;
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

cudaError_t cudaGraphCreate(cudaGraph_t* handle, unsigned int flags) {
  return api([&](Runtime& runtime) {
    require(handle && flags == 0, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    *handle = runtime.handle_of(std::make_shared<Graph>());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphClone(cudaGraph_t* handle, cudaGraph_t original) {
  return api([&](Runtime& runtime) {
    require(handle, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    *handle = runtime.handle_of(clone(*runtime.graphs.get(original)));
    return cudaSuccess;
  });
}

// The graph of a child graph node belongs to the node.
cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const std::shared_ptr<Graph> graph = runtime.graphs.get(handle);
    require(!graph->of_node && !graph->captured_into, cudaErrorInvalidValue);
    runtime.forget(*graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* handle, cudaGraph_t graph, unsigned long long flags) {
  return api([&](Runtime& runtime) {
    require(handle, cudaErrorInvalidValue);
    require(flags == 0, cudaErrorNotSupported);
    std::lock_guard lock(runtime.mutex);
    auto exec = std::make_shared<GraphExec>(*runtime.graphs.get(graph));
    runtime.refuse_staged_copies(*exec, StagedGraphCopies::not_instantiated);
    exec->node_bytes = simt::settings().graph_node_bytes;
    runtime.take_memory(*exec, 1);
    runtime.execs.add(std::move(exec), handle);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
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
      runtime.refuse_staged_copies(*executable, StagedGraphCopies::not_launched);
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
