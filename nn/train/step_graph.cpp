#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/nn/train/step_graph.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

namespace rondo {

namespace {

constexpr const char* kLaunching = "launching the step's graph";

Status end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  return from_cuda(cudaStreamEndCapture(stream, graph), "recording the step");
}

void destroy(cudaGraph_t graph) {
  if (graph) static_cast<void>(cudaGraphDestroy(graph));
}

// The first launch uploads the graph if nobody did so before. If the upload were part of the launch, one
// process could fail when the others' graphs already run and wait for its messages.
Status make_executable(cudaGraph_t graph, cudaStream_t stream, cudaGraphExec_t* executable) {
  RONDO_RETURN_IF_ERROR(
      from_cuda(cudaGraphInstantiate(executable, graph, 0), "making the step's graph executable"));
  return from_cuda(cudaGraphUpload(*executable, stream), "uploading the step's graph");
}

// What a process tells the others about its recording.
struct Recording {
  bool refused = false;
  bool first = false;  // the others were still recording, so their refusals follow from this one
  std::array<char, 300> reason = {};
};

// Returns `own` if it is a failure, and otherwise the failure of another process, if there is one. `what` is
// the same in all processes.
Status agreed(ProcessGroup& processes, Status own, const char* what) {
  Recording recording;
  recording.refused = !own.ok();
  std::copy_n(own.message().begin(), std::min(own.message().size(), recording.reason.size() - 1),
              recording.reason.begin());
  std::vector<Recording> all;
  const std::lock_guard lock(processes.call_mutex());
  // gather() returns bad_argument while another process still records and is at a collective call. That call
  // fails, too, and the process comes here next.
  Status met;
  for (int round = 0; round < processes.size(); ++round) {
    met = gather(processes, recording, all, what);
    if (met.code() != StatusCode::bad_argument) break;
    recording.first = true;
  }
  RONDO_RETURN_IF_ERROR(met);
  const auto refused = [](const Recording& r) { return r.refused; };
  auto found = std::ranges::find_if(all, [](const Recording& r) { return r.refused && r.first; });
  if (found == all.end()) found = std::ranges::find_if(all, refused);
  if (found == all.end() || (!own.ok() && recording.first)) return own;
  const auto process = static_cast<int>(found - all.begin());
  if (process == processes.index()) return own;
  return bad_argument(processes.name(process), ": ", found->reason.data());
}

}  // namespace

StepGraph::StepGraph(StreamGroup& group, std::function<void()> enqueue, ProcessGroup* processes)
    : group_(group), enqueue_(std::move(enqueue)), processes_(processes) {
  if (processes_) {
    const std::lock_guard lock(processes_->call_mutex());
    first_tag_ = processes_->tags();
  }
  Status recorded = record();
  if (processes_) recorded = agreed(*processes_, std::move(recorded), "recording a step");
  if (!recorded.ok()) refuse(std::move(recorded));
}

Status StepGraph::record() {
  DeviceScope scope(group_.device(0));
  const cudaStream_t stream = group_.stream(0);
  // Thread-local mode: other threads may allocate and synchronise during the capture.
  RONDO_CUDA_THROW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Status recorded;
  cudaGraph_t graph = nullptr;
  try {
    group_.fork();  // adds the other streams to the capture
    enqueue_();
    group_.join();  // every branch must join the stream where the capture began
  } catch (const Error& error) {
    recorded = Status(error.status().code(), concat("recording the step: ", error.what()));
  } catch (...) {
    static_cast<void>(end_capture(stream, &graph));
    destroy(graph);
    throw;
  }
  const Status ended = end_capture(stream, &graph);
  if (recorded.ok()) recorded = ended;
  if (recorded.ok()) recorded = make_executable(graph, stream, &executable_);
  destroy(graph);
  return recorded;
}

StepGraph::~StepGraph() {
  if (executable_) static_cast<void>(cudaGraphExecDestroy(executable_));
}

StepGraph::StepGraph(StepGraph&& other) noexcept
    : group_(other.group_),
      enqueue_(std::move(other.enqueue_)),
      processes_(other.processes_),
      executable_(std::exchange(other.executable_, nullptr)),
      first_tag_(other.first_tag_),
      launched_(other.launched_),
      refusal_(std::move(other.refusal_)) {}

// A failed device, and a process that does not answer, would fail without a graph, too.
void StepGraph::refuse(Status status) {
  if (status.code() != StatusCode::bad_argument && status.code() != StatusCode::out_of_resources)
    throw Error(std::move(status));
  refusal_ = std::move(status);
  if (executable_) static_cast<void>(cudaGraphExecDestroy(std::exchange(executable_, nullptr)));
}

void StepGraph::launch() {
  if (!refusal_.ok()) return enqueue_calls();
  if (!std::exchange(launched_, true)) return launch_first();
  throw_if_error(from_cuda(cudaGraphLaunch(executable_, group_.stream(0)), kLaunching));
}

// If one process fails, the graphs of the others run already, and wait for its messages.
void StepGraph::launch_first() {
  const Status launched = from_cuda(cudaGraphLaunch(executable_, group_.stream(0)), kLaunching);
  if (!processes_) {
    if (launched.ok()) return;
    refuse(launched);
    return enqueue_calls();
  }
  Status all = agreed(*processes_, launched, kLaunching);
  if (all.ok()) return;
  if (launched.ok()) group_.synchronize();  // the graph must not be destroyed while it runs
  refuse(std::move(all));
  if (launched.ok()) return;
  const ProcessGroup::Repetition repetition(*processes_, first_tag_);
  enqueue_calls();
}

void StepGraph::enqueue_calls() {
  group_.fork();
  enqueue_();
  group_.join();
}

}  // namespace rondo
