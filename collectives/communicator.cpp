#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/arguments.h>
#include <rondo/collectives/communicator.h>
#include <rondo/collectives/data_view.h>
#include <rondo/collectives/pack.h>
#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <thread>

namespace rondo {

namespace {

// Spare bytes after a slot, for data that begin up to 15 elements after a 16-byte boundary (lead_of()).
constexpr int64_t kLeadBytes = 128;

// A slot must hold an alignment unit of any type as partial sums: 16 bytes of uint8, summed as int32.
constexpr int64_t kLeastSlotBytes = 64;

int64_t rounded_up(int64_t bytes) {
  return (bytes + ring::kChunkAlignment - 1) / ring::kChunkAlignment * ring::kChunkAlignment;
}

void check_order(const std::vector<int>& order, size_t ranks) {
  if (order.size() != ranks)
    throw Error(bad_argument("communicator: ring_order has ", counted(order.size(), "entry", "entries"),
                             ", must have ", ranks, ", one for each rank"));
  std::vector<bool> seen(ranks, false);
  for (size_t position = 0; position < ranks; ++position) {
    const int rank = order[position];
    if (rank < 0 || static_cast<size_t>(rank) >= ranks || seen[static_cast<size_t>(rank)])
      throw Error(bad_argument("communicator: ring_order[", position, "] is ", rank,
                               ", must be a rank from 0 to ", ranks - 1, " that is not in the list yet"));
    seen[static_cast<size_t>(rank)] = true;
  }
}

void check_groups(int ranks, const CommunicatorOptions& options) {
  const int m = options.group_size;
  if (m == 0) return;
  if (options.processes && m != ranks)
    throw Error(bad_argument("communicator: group_size is ", m, ", must be 0 or ", ranks,
                             ", the number of ranks: across processes each process is a group"));
  if (m < 0 || ranks % m != 0)
    throw Error(bad_argument("communicator: group_size is ", m, ", must be 0 or divide ", ranks,
                             ", the number of ranks"));
  // Step 2 of the hierarchical algorithm puts slices of all groups into one slot.
  if (ranks > m && options.slot_bytes < kLeastSlotBytes * (ranks / m + 1))
    throw Error(bad_argument("communicator: slot_bytes is ", options.slot_bytes, ", must be at least ",
                             kLeastSlotBytes * (ranks / m + 1), " for ", counted(ranks / m, "group")));
}

void check(int ranks, const CommunicatorOptions& options) {
  if (ranks < 1 || ranks > kMaxRanks)
    throw Error(bad_argument("communicator: ", there_are(ranks, "rank"), ", must be 1 to ", kMaxRanks));
  if (options.slot_bytes < kLeastSlotBytes)
    throw Error(bad_argument("communicator: slot_bytes is ", options.slot_bytes, ", must be at least ",
                             kLeastSlotBytes));
  if (options.slot_bytes > kMostVectorBytes)
    throw Error(bad_argument("communicator: slot_bytes is ", options.slot_bytes, ", must be at most ",
                             kMostVectorBytes));
  if (options.processes) Exchange::check(*options.processes, options.slot_bytes);
  if (options.bucket_bytes > kMostVectorBytes)
    throw Error(bad_argument("communicator: bucket_bytes is ", options.bucket_bytes, ", must be at most ",
                             kMostVectorBytes));
  if (options.bucket_bytes < 0)
    throw Error(
        bad_argument("communicator: bucket_bytes is ", options.bucket_bytes, ", must not be negative"));
  throw_if_error(check(options.links));
  if (!options.ring_order.empty()) check_order(options.ring_order, static_cast<size_t>(ranks));
  check_groups(ranks, options);
}

// CUDA loads a kernel at its first launch on a device, which synchronises with the device. Load all now.
Status load_kernels() {
  RONDO_RETURN_IF_ERROR(load_reduce_kernels());
  RONDO_RETURN_IF_ERROR(load_pack_kernels());
  return load_trial_kernels();
}

// All devices of the CPU executor are in the memory of one machine.
bool share_one_memory(const std::vector<int>& devices) {
  return std::string(platform()) == "cpu" || std::equal(devices.begin() + 1, devices.end(), devices.begin());
}

}  // namespace

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

int64_t Communicator::slot_stride(const CommunicatorOptions& options) {
  return rounded_up(options.slot_bytes) + kLeadBytes;
}

// staged_copy.cpp cuts this memory into n regions instead of slots; each region needs a minimum size.
int64_t Communicator::inbox_and_outbox_bytes(int ranks, const CommunicatorOptions& options) {
  if (ranks == 1 && !options.processes) return 0;
  return std::max(2 * ring::kSlots * slot_stride(options), kLeastSlotBytes * ranks);
}

int64_t Communicator::bytes_per_rank(int ranks, const CommunicatorOptions& options) {
  check(ranks, options);
  return inbox_and_outbox_bytes(ranks, options) + rounded_up(options.bucket_bytes);
}

Communicator::Communicator(std::vector<int> devices, CommunicatorOptions options)
    : options_(std::move(options)) {
  if (options_.processes && options_.processes->size() == 1) options_.processes = nullptr;
  throw_if_error(check_devices("communicator", devices));
  const auto ranks = static_cast<int>(devices.size());
  check(ranks, options_);
  options_.slot_bytes = rounded_up(options_.slot_bytes);
  options_.links.slot_bytes = options_.slot_bytes;
  options_.links.ranks_share_one_memory = share_one_memory(devices);
  if (options_.ring_order.empty()) {
    options_.ring_order.resize(devices.size());
    std::iota(options_.ring_order.begin(), options_.ring_order.end(), 0);
  }
  if (options_.group_size == 0) options_.group_size = ranks;
  group_order_ = options_.ring_order;
  std::stable_sort(group_order_.begin(), group_order_.end(),
                   [&](int a, int b) { return a / options_.group_size < b / options_.group_size; });
  tracker_ = OperationTracker(devices);
  ranks_.reserve(devices.size());
  for (int device : devices) {
    const DeviceScope scope(device);  // memory, streams and events belong to the current device
    const bool new_device =
        std::none_of(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.device == device; });
    if (new_device) throw_if_error(load_kernels());
    Rank& rank = ranks_.emplace_back();
    rank.device = device;
    rank.scratch = Buffer<std::byte>(bytes_per_rank(ranks, options_));
    for (int event = 0; event < ring::steps(ranks) * ring::kSlots; ++event) rank.delivered.emplace_back();
  }
  // The trial uses the scratch memory if it is large enough: freeing other memory would wait for the devices,
  // which may be stuck.
  std::map<std::pair<int, int>, PeerAccess> links;  // ranks on the same device share its links
  const auto memory_of = [](Rank& rank) {
    return TrialMemory{rank.device, rank.scratch.data(), rank.scratch.bytes()};
  };
  for (Rank& rank : ranks_)
    for (Rank& peer : ranks_) {
      const auto [link, is_new] = links.try_emplace(std::minmax(rank.device, peer.device));
      if (is_new) link->second = connect(memory_of(rank), memory_of(peer));
      reaches_.push_back(link->second == PeerAccess::same_device || link->second == PeerAccess::direct);
      all_reach_all_ = all_reach_all_ && reaches_.back();
    }
  if (options_.processes) exchange_ = std::make_unique<Exchange>(*options_.processes, *this);
}

int Communicator::total_size() const {
  return size() * (options_.processes ? options_.processes->size() : 1);
}

Communicator::~Communicator() {
  if (state().ok()) return;
  // cudaFree waits for all work of the device, including the callers' streams, and that work may be stuck
  // forever. So the memory is leaked on purpose; enqueued work may still use it.
  static std::mutex mutex;
  struct LeftBehind {
    std::vector<Rank> ranks;
    std::vector<std::unique_ptr<Exchange>>
        exchanges;  // host functions that have not run yet read its messages
  };
  static LeftBehind& left_behind = *new LeftBehind;
  const std::lock_guard lock(mutex);
  for (Rank& rank : ranks_) left_behind.ranks.push_back(std::move(rank));
  if (exchange_) left_behind.exchanges.push_back(std::move(exchange_));
}

bool Communicator::reaches(int rank, int other) const {
  return reaches_[static_cast<size_t>(rank * size() + other)];
}

void Communicator::abort(Status reason) {
  const std::lock_guard lock(state_mutex_);
  if (state_.ok()) state_ = std::move(reason);
}

Status Communicator::state() const {
  {
    const std::lock_guard lock(state_mutex_);
    if (!state_.ok() || !options_.processes) return state_;
  }
  return options_.processes->state();
}

namespace {

enum class Progress { pending, done, captured };

// Asks for the work of a stream of `device`.
Status query(cudaStream_t stream, int device, Progress& progress) {
  Status status;
  const DeviceScope scope(device, status);
  if (!status.ok()) return status;
  const RelaxedCaptureScope relaxed;  // another thread may be capturing other streams
  // To query a captured stream is an error, which ends the capture.
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

Status Communicator::wait(std::span<const cudaStream_t> streams, std::chrono::milliseconds timeout) {
  RONDO_RETURN_IF_ERROR(state());
  if (static_cast<int>(streams.size()) != size())
    return bad_argument("wait: ", there_are(streams.size(), "stream"), ", must be ", size(),
                        ", one for each rank of the communicator");
  const auto begin = std::chrono::steady_clock::now();
  for (int rank = 0; rank < size();) {
    Progress progress = Progress::pending;
    const Status status = query(streams[static_cast<size_t>(rank)], device(rank), progress);
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

}  // namespace

std::string Communicator::timeout_message(std::chrono::milliseconds timeout) const {
  const auto late = concat(" not done after ", timeout.count(), " ms: ");
  const std::unique_lock lock = lock_for(mutex_, std::chrono::seconds(1));  // other threads may be enqueuing
  if (!lock)
    return concat("the work on the streams was", late,
                  "a thread is still enqueuing an operation, which blocks while a stream's queue is full; ",
                  "the missing ranks are not known");
  const RelaxedCaptureScope relaxed;  // for the queries of events
  const OperationTracker::Operation* open = tracker_.first_unfinished();
  if (!open)
    return concat("the work on the streams was", late, "all enqueued operations are done, ",
                  tracker_.captured_any() ? "but the progress of replayed graphs is not known"
                                          : "but other work on the streams is not");
  const int64_t behind = tracker_.enqueued_after(*open);
  return concat(open->name, " was", late, progress(*open),
                behind > 0 ? concat("; ", behind, " more operations wait behind it") : "");
}

// Names the missing ranks and the progress of the others.
std::string Communicator::progress(const OperationTracker::Operation& operation) const {
  std::string missing, others;
  int arrived = 0;
  for (int rank = 0; rank < size(); ++rank) {
    if (!is_complete(operation.ranks[static_cast<size_t>(rank)].entered)) {
      missing += concat(missing.empty() ? "" : ", ", "rank ", rank, " has not arrived");
      continue;
    }
    ++arrived;
    // Each operation records the events of the steps again, so they are valid for the last one only.
    if (operation.first_step == operation.last_step || tracker_.enqueued_after(operation) > 0) continue;
    int position = 0;
    while (rank_at(position) != rank) ++position;
    const Rank& prev = of(rank_at(ring::prev_position(position, size())));
    int step = operation.first_step;
    while (step < operation.last_step &&
           is_complete(prev.delivered[static_cast<size_t>(step * ring::kSlots)]))
      ++step;
    others += step == operation.first_step
                  ? concat(", rank ", rank, " has received nothing")
                  : concat(", rank ", rank, " has received chunk ",
                           ring::received_chunk(position, step - 1, size()), " of step ", step - 1);
  }
  if (arrived == 0 && operation.follows_unknown)
    return concat("no rank has arrived; more than ", OperationTracker::kTracked,
                  " operations are in flight, and the ranks missing in the earlier ones are not known");
  if (arrived == 0 && tracker_.captured_any())
    return "no rank has arrived; the progress of graphs replayed before it is not known";
  if (missing.empty()) return concat("all ranks have arrived", others);
  return missing + others;
}

}  // namespace rondo
