#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/algorithms/partial_sums.h>
#include <rondo/collectives/arguments.h>
#include <rondo/kernels/core/counted.h>

#include <system_error>

namespace rondo {

namespace {

using PartialSegment = ring::Ring::PartialSegment;

// Spare bytes after a region: for the same offset from a 16-byte boundary as the data, and for a slice that
// is rounded up to an alignment unit of partial sums.
constexpr int64_t kSpareBytes = 256;

int64_t stage_bytes(int64_t slot_bytes) { return slot_bytes + kSpareBytes; }
int64_t slice_bytes(int processes, int64_t slot_bytes) {
  return (slot_bytes / processes + kSpareBytes) / ring::kChunkAlignment * ring::kChunkAlignment;
}

std::shared_ptr<Event> event_on(int device) {
  const DeviceScope scope(device);
  return std::make_shared<Event>();
}

}  // namespace

struct Exchange::Messages {
  Exchange* exchange = nullptr;
  std::string what;
  int tag = 0;
  std::vector<ProcessGroup::Message> sends, receives;
  bool captured = false;  // a graph may run it several times
  std::atomic<bool> done = false;

  // Runs as a host function.
  static void run(void* data) {
    auto& messages = *static_cast<Messages*>(data);
    messages.exchange->deliver(messages);
    messages.done = true;
  }
};

// Called by a host function: returns when thread_ has delivered the messages.
void Exchange::deliver(Messages& messages) {
  const std::lock_guard one_at_a_time(delivering_);
  std::unique_lock lock(mutex_);
  next_ = &messages;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !next_; });
}

// What thread_ runs.
void Exchange::deliver_until_ended(int device) {
  // CUDA calls of the process group must not create a context on device 0. If this fails, so do they.
  static_cast<void>(cudaSetDevice(device));
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return next_ || ended_; });
    if (!next_) return;
    const Messages& messages = *next_;
    lock.unlock();
    // The process group stores a failure; a host function has no caller to return it to.
    static_cast<void>(group_.exchange(messages.sends, messages.receives, messages.tag, messages.what));
    lock.lock();
    next_ = nullptr;
    changed_.notify_all();
  }
}

void Exchange::check(const ProcessGroup& group, int64_t slot_bytes) {
  constexpr int64_t kMostSlotBytes = int64_t{1} << 30;  // the limit of a single message
  if (group.size() > kMaxRanks)
    throw Error(bad_argument("communicator: ", there_are(group.size(), "process", "processes"),
                             ", must be at most ", kMaxRanks));
  if (slot_bytes > kMostSlotBytes)
    throw Error(bad_argument("communicator: slot_bytes is ", slot_bytes, ", must be at most ", kMostSlotBytes,
                             " across processes"));
}

int64_t Exchange::pinned_bytes(int processes, int ranks, int64_t slot_bytes) {
  return ranks * ring::kSlots * (stage_bytes(slot_bytes) + processes * slice_bytes(processes, slot_bytes));
}

Exchange::Exchange(ProcessGroup& group, const Communicator& communicator)
    : group_(group),
      ranks_(communicator.size()),
      slot_bytes_(communicator.options().slot_bytes),
      sent_(event_on(communicator.device(0))),
      sent_captured_(event_on(communicator.device(0))) {
  const std::lock_guard lock(group.call_mutex());
  throw_if_error(agree(group, Layout{ranks_, slot_bytes_, communicator.options().bucket_bytes}));
  number_ = group.next_tag();
  const int64_t bytes = pinned_bytes(group.size(), ranks_, slot_bytes_);
  throw_if_error(from_cuda(cudaHostAlloc(reinterpret_cast<void**>(&pinned_), static_cast<size_t>(bytes),
                                         cudaHostAllocPortable | cudaHostAllocMapped),
                           concat("allocating ", counted(bytes, "byte"), " of pinned host memory")));
  try {
    thread_ = std::thread([this, device = communicator.device(0)] { deliver_until_ended(device); });
  } catch (const std::system_error& error) {
    static_cast<void>(cudaFreeHost(pinned_));
    throw Error(
        Status(StatusCode::out_of_resources, concat("starting the thread for messages: ", error.what())));
  }
}

Exchange::~Exchange() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
  // After a failure, abandoned messages may still write there.
  if (group_.state().ok()) static_cast<void>(cudaFreeHost(pinned_));
}

std::byte* Exchange::staged(int position, int slot) const {
  return pinned_ + (position * ring::kSlots + slot) * stage_bytes(slot_bytes_);
}

std::byte* Exchange::received(int position, int slot, int process) const {
  const int64_t index = int64_t{position * ring::kSlots + slot} * group_.size() + process;
  return pinned_ + ranks_ * ring::kSlots * stage_bytes(slot_bytes_) +
         index * slice_bytes(group_.size(), slot_bytes_);
}

Exchange::Messages& Exchange::new_messages(bool captured) {
  std::erase_if(messages_, [](const Messages& old) { return old.done && !old.captured; });
  Messages& messages = messages_.emplace_back();
  messages.exchange = this;
  messages.tag = tag_;
  messages.captured = captured;
  return messages;
}

// An event that was recorded in another graph cannot be waited for.
Status Exchange::wait_for_last_messages(cudaStream_t stream, bool captured) {
  const ProcessGroup::LastMessages& last = group_.last_messages(captured);
  StreamCapture capture;
  RONDO_RETURN_IF_ERROR(capture_of(stream, capture));
  if (last.event && last.capture == capture.id) RONDO_CUDA(cudaStreamWaitEvent(stream, *last.event, 0));
  return {};
}

Status Exchange::record_last_messages(cudaStream_t stream, bool captured) {
  ProcessGroup::LastMessages& last = group_.last_messages(captured);
  StreamCapture capture;
  RONDO_RETURN_IF_ERROR(capture_of(stream, capture));
  last.capture = capture.id;
  last.event = captured ? sent_captured_ : sent_;
  RONDO_CUDA(cudaEventRecord(*last.event, stream));
  return {};
}

Status Exchange::send_and_receive(OperationBuilder& builder, Messages& messages, const char* what) {
  messages.what = concat(builder.operation(), ", ", what);
  RONDO_RETURN_IF_ERROR(builder.join_sums());
  RONDO_RETURN_IF_ERROR(builder.on(0, [&]() -> Status {
    const cudaStream_t stream = builder.sums(0);
    const bool captured = builder.captured();
    RONDO_RETURN_IF_ERROR(wait_for_last_messages(stream, captured));
    {
      const Trace::Scope span =
          trace_span(builder.communicator().trace(), 0, "message", "sums", stream, what);
      RONDO_CUDA(cudaLaunchHostFunc(stream, Messages::run, &messages));
    }
    return record_last_messages(stream, captured);
  }));
  return builder.join_sums();
}

Status Exchange::reduce_across_processes(OperationBuilder& builder, const SegmentAt& segment_at, DType dtype,
                                         Reduction reduction) {
  const int processes = group_.size(), own = group_.index();
  const bool captured = builder.captured();
  Messages& partial_sums = new_messages(captured);
  Messages& finished_sums = new_messages(captured);
  const auto slice_of = [&](const PartialSegment& segment, int process) {
    return ring::chunk_of(segment.range.size, processes, process, size_of(dtype));
  };
  const auto each_segment = [&](auto work) -> Status {
    for (int slot = 0; slot < ring::kSlots; ++slot)
      for (int position = 0; position < ranks_; ++position) {
        const PartialSegment segment = segment_at(position, slot);
        if (segment.range.size > 0) RONDO_RETURN_IF_ERROR(work(segment, position, slot));
      }
    return {};
  };
  // The finished segment replaces the partial one, which has been sent before.
  const auto staged_as = [&](DType type, const PartialSegment& segment, int position, int slot) {
    return DataView(ring::Ring::aligned_in_slot(staged(position, slot), type, segment.input),
                    segment.range.size, type);
  };
  const auto received_from = [&](int process, const PartialSegment& segment, int position, int slot) {
    return DataView(ring::Ring::aligned_in_slot(received(position, slot, process), segment.partial_sum.dtype,
                                                segment.input),
                    slice_of(segment, own).size, segment.partial_sum.dtype);
  };

  RONDO_RETURN_IF_ERROR(each_segment([&](const PartialSegment& segment, int position, int slot) -> Status {
    const DataView stage = staged_as(segment.partial_sum.dtype, segment, position, slot);
    for (int process = 0; process < processes; ++process) {
      if (process == own) continue;
      const ring::Chunk slice = slice_of(segment, process);
      const DataView out = stage.part(slice.begin, slice.size);
      const DataView in = received_from(process, segment, position, slot);
      if (out.size > 0) partial_sums.sends.push_back({process, out.data, out.bytes()});
      if (in.size > 0) partial_sums.receives.push_back({process, in.data, in.bytes()});
    }
    return builder.copy(segment.rank, builder.sums(segment.rank), {stage.data, segment.rank},
                        {segment.partial_sum.data, segment.rank}, stage.bytes(), "chunk ", segment.chunk,
                        " to the host");
  }));
  RONDO_RETURN_IF_ERROR(send_and_receive(builder, partial_sums, "partial sums"));

  RONDO_RETURN_IF_ERROR(each_segment([&](const PartialSegment& segment, int position, int slot) -> Status {
    const DataView stage = staged_as(dtype, segment, position, slot);
    const ring::Chunk mine = slice_of(segment, own);
    const DataView result = stage.part(mine.begin, mine.size);
    for (int process = 0; process < processes; ++process) {
      if (process == own) continue;
      const ring::Chunk slice = slice_of(segment, process);
      const DataView theirs = stage.part(slice.begin, slice.size);
      if (result.size > 0) finished_sums.sends.push_back({process, result.data, result.bytes()});
      if (theirs.size > 0) finished_sums.receives.push_back({process, theirs.data, theirs.bytes()});
    }
    if (mine.size == 0) return {};
    PartialSums sums(dtype, segment.partial_sum.dtype, reduction, mine.size, ranks_ * processes);
    const DataView own_part = segment.partial_sum.part(mine.begin, mine.size);
    for (int process = 0; process < processes; ++process)
      sums.read(process == own ? own_part : received_from(process, segment, position, slot));
    sums.write(result);
    return sums.enqueue(builder, segment.rank, own_part, "add the processes' chunk ", segment.chunk);
  }));
  RONDO_RETURN_IF_ERROR(send_and_receive(builder, finished_sums, "finished sums"));

  return each_segment([&](const PartialSegment& segment, int position, int slot) {
    const DataView stage = staged_as(dtype, segment, position, slot);
    return builder.copy(segment.rank, builder.sums(segment.rank), {segment.output.data, segment.rank},
                        {stage.data, segment.rank}, stage.bytes(), "chunk ", segment.chunk, " from the host");
  });
}

}  // namespace rondo
