#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/ring_schedule.h>
#include <rondo/collectives/stream_capture.h>
#include <rondo/kernels/core/counted.h>

#include <system_error>

namespace rondo {

namespace {

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

struct Exchange::Delivery {
  Delivery(Exchange& by, Messages what, bool is_captured)
      : exchange(by), messages(std::move(what)), tag(by.tag_), captured(is_captured) {}

  Exchange& exchange;
  const Messages messages;
  const int tag;
  const bool captured;  // a graph may run it several times
  std::atomic<bool> done = false;

  // Runs as a host function.
  static void run(void* data) {
    auto& delivery = *static_cast<Delivery*>(data);
    delivery.exchange.deliver(delivery);
    delivery.done = true;
  }
};

// Called by a host function: returns when thread_ has delivered the messages.
void Exchange::deliver(Delivery& delivery) {
  const std::lock_guard one_at_a_time(delivering_);
  std::unique_lock lock(mutex_);
  next_ = &delivery;
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
    const Messages& messages = next_->messages;
    const int tag = next_->tag;
    lock.unlock();
    // The process group stores a failure; a host function has no caller to return it to.
    static_cast<void>(group_.exchange(messages.sends, messages.receives, tag,
                                      concat(messages.operation, ", ", messages.what)));
    lock.lock();
    next_ = nullptr;
    changed_.notify_all();
  }
}

Exchange::Exchange(ProcessGroup& group, const Layout& layout, int device)
    : group_(group), layout_(layout), sent_(event_on(device)), sent_captured_(event_on(device)) {
  const std::lock_guard lock(group.call_mutex());
  throw_if_error(agree(group, layout));
  number_ = group.next_tag();
  const int64_t slots = layout.ranks * ring::kSlots;
  const int64_t bytes =
      slots * (stage_bytes(layout.slot_bytes) + group.size() * slice_bytes(group.size(), layout.slot_bytes));
  pinned_ = PinnedMemory(bytes, "for messages", cudaHostAllocPortable | cudaHostAllocMapped);
  try {
    thread_ = std::thread([this, device] { deliver_until_ended(device); });
  } catch (const std::system_error& error) {
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
  if (!group_.state().ok()) pinned_.abandon();
}

std::byte* Exchange::staged(int position, int slot) const {
  return pinned_.data() + (position * ring::kSlots + slot) * stage_bytes(layout_.slot_bytes);
}

std::byte* Exchange::received(int position, int slot, int process) const {
  const int64_t index = int64_t{position * ring::kSlots + slot} * group_.size() + process;
  return pinned_.data() + layout_.ranks * ring::kSlots * stage_bytes(layout_.slot_bytes) +
         index * slice_bytes(group_.size(), layout_.slot_bytes);
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

Status Exchange::enqueue(Messages messages, cudaStream_t stream, bool captured, Trace* trace) {
  std::erase_if(deliveries_, [](const Delivery& old) { return old.done && !old.captured; });
  Delivery& delivery = deliveries_.emplace_back(*this, std::move(messages), captured);
  RONDO_RETURN_IF_ERROR(wait_for_last_messages(stream, captured));
  {
    const Trace::Scope span = trace_span(trace, 0, "message", "sums", stream, delivery.messages.what);
    RONDO_CUDA(cudaLaunchHostFunc(stream, Delivery::run, &delivery));
  }
  return record_last_messages(stream, captured);
}

}  // namespace rondo
