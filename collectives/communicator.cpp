#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/collectives/communicator.h>
#include <rondo/collectives/rank_resources.h>
#include <rondo/collectives/stream_capture.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/runtime/platform.h>

#include <string>
#include <thread>

namespace rondo {

Status check_devices(const char* owner, std::span<const int> devices) {
  if (devices.empty())
    return bad_argument(owner, ": the list of devices is empty, must have one device for each rank");
  int present = 0;
  RONDO_RETURN_IF_ERROR(count_devices(present));
  for (size_t rank = 0; rank < devices.size(); ++rank)
    if (devices[rank] < 0 || devices[rank] >= present)
      return bad_argument(owner, ": the device of rank ", rank, " is ", devices[rank],
                          ", must be at least 0 and below ", present, ", the number of devices");
  return {};
}

Communicator::Communicator(std::vector<int> devices, CommunicatorOptions options) {
  throw_if_error(check_devices("communicator", devices));
  resources_ = std::make_unique<RankResources>(devices, options);
}

// cudaFree waits for all work of the device, including the callers' streams, and that work may be stuck
// forever. So the resources of an aborted communicator are leaked on purpose; enqueued work may still use
// them.
Communicator::~Communicator() {
  if (state().ok()) return;
  static std::mutex mutex;
  static auto& left_behind = *new std::vector<std::unique_ptr<RankResources>>;
  const std::lock_guard lock(mutex);
  left_behind.push_back(std::move(resources_));
}

int Communicator::size() const { return resources_->size(); }
int Communicator::device(int rank) const { return resources_->of(rank).device; }
const CommunicatorOptions& Communicator::options() const { return resources_->options(); }
bool Communicator::reaches(int rank, int other) const { return resources_->reaches(rank, other); }
bool Communicator::all_reach_all() const { return resources_->all_reach_all(); }
void Communicator::set_trace(Trace* trace) { resources_->set_trace(trace); }

int Communicator::total_size() const {
  return size() * (options().processes ? options().processes->size() : 1);
}

int64_t Communicator::bytes_per_rank(int ranks, const CommunicatorOptions& options) {
  return RankResources::bytes_per_rank(ranks, options);
}

void Communicator::abort(Status reason) {
  const std::lock_guard lock(state_mutex_);
  if (state_.ok()) state_ = std::move(reason);
}

Status Communicator::state() const {
  {
    const std::lock_guard lock(state_mutex_);
    if (!state_.ok() || !options().processes) return state_;
  }
  return options().processes->state();
}

namespace {

enum class Progress { pending, done, captured };

// Queries whether a stream of `device` has unfinished work.
Status query(cudaStream_t stream, int device, Progress& progress) {
  Status status;
  const DeviceScope scope(device, status);
  if (!status.ok()) return status;
  const RelaxedCaptureScope relaxed;  // another thread may be capturing other streams
  // A query of a captured stream is an error and ends the capture.
  StreamCapture capture;
  RONDO_RETURN_IF_ERROR(capture_of(stream, capture));
  if (capture.captured) {
    progress = Progress::captured;
    return {};
  }
  const cudaError_t error = cudaStreamQuery(stream);
  progress = error == cudaSuccess ? Progress::done : Progress::pending;
  if (error != cudaErrorNotReady) return from_cuda(error, "the query of its stream");
  static_cast<void>(cudaGetLastError());
  return {};
}

}  // namespace

Status Communicator::wait(RankStreams streams, std::chrono::milliseconds timeout) {
  RONDO_RETURN_IF_ERROR(state());
  if (streams.count() != size())
    return bad_argument("wait: ", there_are(streams.size(), "stream"), ", must be ", size(),
                        ", one for each rank of the communicator");
  const auto begin = std::chrono::steady_clock::now();
  for (int rank = 0; rank < size();) {
    Progress progress = Progress::pending;
    const Status status = query(streams[rank], device(rank), progress);
    if (progress == Progress::captured)
      return bad_argument("wait: the stream of rank ", rank,
                          " is being captured, must not be: what is captured is not running");
    if (!status.ok()) {
      const auto message = concat("rank ", rank, " on device ", device(rank), ": ", status.message());
      // CUDA refused the query, such as of the default stream while another thread captures. The work runs.
      if (status.code() != StatusCode::device_failed) return Status(status.code(), concat("wait: ", message));
      abort(Status(StatusCode::device_failed, concat(message, "; the results of all ranks are invalid")));
      return state();
    }
    if (progress == Progress::done) {
      ++rank;
    } else if (std::chrono::steady_clock::now() - begin < timeout) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else {
      abort(Status(StatusCode::timed_out, timeout_message(timeout)));
      return state();
    }
  }
  return state();
}

namespace {

// Used instead of try_lock_for(), whose implementation the thread sanitizer of g++ 12 does not support.
std::unique_lock<std::mutex> lock_for(std::mutex& mutex, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex, std::try_to_lock);
  for (const auto begin = std::chrono::steady_clock::now();
       !lock && std::chrono::steady_clock::now() - begin < timeout; static_cast<void>(lock.try_lock()))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return lock;
}

// Names the missing ranks and the progress of the others.
std::string progress(RankResources& resources, const OperationTracker::Operation& operation) {
  const OperationTracker& tracker = resources.tracker();
  const int ranks = resources.size();
  std::string missing, others;
  int arrived = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!is_complete(operation.ranks[rank].entered)) {
      missing += concat(missing.empty() ? "" : ", ", "rank ", rank, " has not arrived");
      continue;
    }
    ++arrived;
    // Each operation records the events of the steps again, so they are valid for the last one only.
    if (operation.first_step == operation.last_step || tracker.enqueued_after(operation) > 0) continue;
    int position = 0;
    while (resources.rank_at(position) != rank) ++position;
    const RankResources::Rank& prev = resources.of(resources.rank_at(ring::prev_position(position, ranks)));
    int step = operation.first_step;
    while (step < operation.last_step && is_complete(prev.delivered[step][0])) ++step;
    others += step == operation.first_step
                  ? concat(", rank ", rank, " has received nothing")
                  : concat(", rank ", rank, " has received chunk ",
                           ring::received_chunk(position, step - 1, ranks), " of step ", step - 1);
  }
  if (arrived == 0 && operation.follows_unknown)
    return concat("no rank has arrived; more than ", OperationTracker::kTracked,
                  " operations are in flight, and the ranks missing in the earlier ones are not known");
  if (arrived == 0 && tracker.captured_any())
    return "no rank has arrived; the progress of graphs replayed before it is not known";
  if (missing.empty()) return concat("all ranks have arrived", others);
  return missing + others;
}

}  // namespace

std::string Communicator::timeout_message(std::chrono::milliseconds timeout) const {
  const auto late = concat(" not done after ", timeout.count(), " ms: ");
  // Other threads may be enqueuing.
  const std::unique_lock lock = lock_for(resources_->mutex(), std::chrono::seconds(1));
  if (!lock)
    return concat("the work on the streams was", late,
                  "a thread is still enqueuing an operation, which blocks while a stream's queue is full; ",
                  "the missing ranks are not known");
  const RelaxedCaptureScope relaxed;  // for the queries of events
  const OperationTracker& tracker = resources_->tracker();
  const OperationTracker::Operation* open = tracker.first_unfinished();
  if (!open)
    return concat("the work on the streams was", late, "all enqueued operations are done, ",
                  tracker.captured_any() ? "but the progress of replayed graphs is not known"
                                         : "but other work on the streams is not");
  const int64_t behind = tracker.enqueued_after(*open);
  return concat(open->name, " was", late, progress(*resources_, *open),
                behind > 0 ? concat("; ", behind, " more operations wait behind it") : "");
}

}  // namespace rondo
