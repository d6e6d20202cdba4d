// Copies and memsets.
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "../base/text.h"
#include "broken_link.h"
#include "operations.h"
#include "runtime.h"

using namespace simt;

namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;     // large copies are split into pieces of this size
constexpr size_t kStagingBytes = size_t{64} << 10;  // smaller pageable sources are read during the call

enum class Side { host, device, any };

struct Kinds {
  Side to;
  Side from;
};

Kinds kinds_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return {Side::host, Side::host};
    case cudaMemcpyHostToDevice:
      return {Side::device, Side::host};
    case cudaMemcpyDeviceToHost:
      return {Side::host, Side::device};
    case cudaMemcpyDeviceToDevice:
      return {Side::device, Side::device};
    case cudaMemcpyDefault:
      return {Side::any, Side::any};
  }
  throw Failure{cudaErrorInvalidMemcpyDirection};
}

// The memory at one end of a copy.
struct Place {
  int device = Memory::kHost;
  bool pageable = false;
  Memory::Range range = {};  // the allocation; none of pageable memory
};

// The allocations that an operation uses. They must exist when it runs.
class Allocations {
 public:
  Allocations(const Memory& memory, const char* what, std::initializer_list<Place> places)
      : memory_(memory), what_(what), checked_at_(memory.generation()) {
    for (const Place& place : places)
      if (!place.pageable) ranges_.push_back(place.range);
  }

  Fault check() const {
    const uint64_t generation = memory_.generation();
    if (checked_at_.load(std::memory_order_relaxed) == generation) return {};
    for (const Memory::Range& range : ranges_) {
      if (memory_.exists(range)) continue;
      TextStream text;
      text << what_ << ": the memory at " << reinterpret_cast<void*>(range.begin) << " ("
           << counted(range.bytes, "byte") << ") was freed before it ran";
      return {cudaErrorIllegalAddress, text.str()};
    }
    checked_at_.store(generation, std::memory_order_relaxed);
    return {};
  }

 private:
  const Memory& memory_;
  const char* what_;
  std::vector<Memory::Range> ranges_;
  mutable std::atomic<uint64_t> checked_at_;
};

// Throws if [pointer, pointer + bytes) is not memory of the declared kind, or exceeds its allocation.
Place examine(const Memory& memory, const void* pointer, size_t bytes, Side side) {
  require(pointer, cudaErrorInvalidValue);
  const auto range = memory.find(pointer);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!range) {
    require(side != Side::device, cudaErrorInvalidValue);
    return {Memory::kHost, true};
  }
  require(bytes <= range->bytes - (address - range->begin), cudaErrorInvalidValue);
  // Pinned memory counts as device memory, because the device sees it at the same address; managed memory is
  // both.
  require(side != Side::host || range->device == Memory::kHost || range->managed, cudaErrorInvalidValue);
  return {range->device, false, *range};
}

Transfer rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
              cudaMemcpyKind kind) {
  require(width <= to_pitch && width <= from_pitch, cudaErrorInvalidPitchValue);
  return {.name = "a copy",
          .to = to,
          .from = from,
          .to_pitch = to_pitch,
          .from_pitch = from_pitch,
          .width = width,
          .height = height,
          .kind = kind};
}

// Two places of a copy, whose devices it gets.
struct Places {
  Place to, from;

  Places(const Memory& memory, Transfer& copy) {
    const auto [side_to, side_from] = kinds_of(copy.kind);
    to = examine(memory, copy.to, copy.to_bytes(), side_to);
    from = examine(memory, copy.from, copy.from_bytes(), side_from);
    copy.to_device = to.device;
    copy.from_device = from.device;
  }
  bool of_devices() const { return to.device != Memory::kHost && from.device != Memory::kHost; }
  bool of_host() const { return to.device == Memory::kHost && from.device == Memory::kHost; }
};

// `staged`: what holds the source in place of the program.
std::shared_ptr<Operation> make_copy(const Memory& memory, const Transfer& copy, const Places& places,
                                     std::shared_ptr<const std::vector<char>> staged = nullptr) {
  auto allocations =
      std::make_shared<Allocations>(memory, copy.name, std::initializer_list{places.to, places.from});
  auto operation = std::make_shared<Operation>();
  operation->transfer = copy;
  if (copy.rows() == 1) {
    operation->pieces = (copy.width + kPieceBytes - 1) / kPieceBytes;
    operation->run = [to = copy.to_row(0), from = copy.from_row(0), width = copy.width,
                      allocations = std::move(allocations), staged = std::move(staged)](uint64_t piece) {
      if (Fault fault = allocations->check(); fault.error != cudaSuccess) return fault;
      const size_t begin = piece * kPieceBytes;
      // memmove, so that a copy of a buffer to itself is valid.
      std::memmove(to + begin, from + begin, std::min(kPieceBytes, width - begin));
      return Fault{};
    };
  } else {
    operation->run = [copy, allocations = std::move(allocations)](uint64_t) {
      if (Fault fault = allocations->check(); fault.error != cudaSuccess) return fault;
      for (size_t row = 0; row < copy.rows(); ++row)
        std::memmove(copy.to_row(row), copy.from_row(row), copy.width);
      return Fault{};
    };
  }
  if (places.of_devices()) {
    operation->copies = Operation::Link{places.from.device, places.to.device};
    damage_copy(memory, *operation);
  }
  return operation;
}

void fill_row(const Transfer& fill, char* to, size_t bytes) {
  if (fill.element_bytes == 1) {
    std::memset(to, static_cast<int>(fill.value), bytes);
    return;
  }
  for (size_t at = 0; at < bytes; at += fill.element_bytes)  // little-endian: the low bytes of the value
    std::memcpy(to + at, &fill.value, fill.element_bytes);
}

enum class Wait { never, always, synchronous, as_cuda };

// All copies use this function. With Wait::synchronous the call waits for the copy, as cudaMemcpy() does, but
// not between memory of devices (CUDA Runtime API, "API synchronization behavior"). With Wait::as_cuda a copy
// between pageable and device memory "might be synchronous": it returns when the caller may reuse the
// pageable buffer, as most GPUs do, or with settings().late_copies as late as allowed. Then the copy accesses
// the buffer in stream order, when a host thread waits, as GPUs may that share the host's memory (GH200).
cudaError_t copy_on_stream(Runtime& runtime, Transfer copy, cudaStream_t handle, Wait wait) {
  kinds_of(copy.kind);
  if (copy.width == 0 || copy.rows() == 0) return cudaSuccess;
  const Places places(runtime.memory, copy);
  std::vector<TaskPtr> tasks;
  Clock waited;
  int device = 0;
  {
    std::unique_lock lock(runtime.mutex);
    if (wait == Wait::synchronous || wait == Wait::always) runtime.forbid_during_capture();
    const auto stream = runtime.stream_with_room(lock, handle, "a copy");
    device = stream->device;
    const bool captured = stream->capture != nullptr;
    std::shared_ptr<std::vector<char>> staged;
    if (places.of_devices() && runtime.copies_until_refusal > 0 && --runtime.copies_until_refusal == 0)
      return cudaErrorMemoryAllocation;
    bool blocking = wait == Wait::always || (wait == Wait::synchronous && !places.of_devices());
    const bool pageable = wait == Wait::as_cuda && !captured && (places.to.pageable || places.from.pageable);
    const bool late = pageable && !places.of_host() && simt::settings().late_copies;
    if (pageable && !late) {
      const bool stage = !places.to.pageable && copy.rows() == 1 && copy.width <= kStagingBytes;
      if (stage) {
        const char* source = static_cast<const char*>(copy.from);
        staged = std::make_shared<std::vector<char>>(source, source + copy.width);
        copy.from = staged->data();
      } else {
        blocking = true;
      }
    }
    auto operation = make_copy(runtime.memory, copy, places, std::move(staged));
    operation->device = stream->device;
    operation->late = late;
    runtime.enqueue(stream, std::move(operation));
    if (blocking && !captured) {
      tasks = stream->tail;
      waited = stream->after;
    }
  }
  if (tasks.empty()) {
    runtime.scheduler.throttle();
    return cudaSuccess;
  }
  return wait_for(tasks, device, waited);
}

void check_peers(Runtime& runtime, const void* to, int to_device, const void* from, int from_device,
                 size_t bytes) {
  runtime.check_ordinal(to_device);
  runtime.check_ordinal(from_device);
  runtime.make_context(to_device);
  runtime.make_context(from_device);
  if (bytes == 0) return;
  const Place destination = examine(runtime.memory, to, bytes, Side::device);
  const Place source = examine(runtime.memory, from, bytes, Side::device);
  require(destination.device == to_device || destination.device == Memory::kHost, cudaErrorInvalidValue);
  require(source.device == from_device || source.device == Memory::kHost, cudaErrorInvalidValue);
}

// The first byte of one side of a copy of a box.
char* begin_of(const cudaPitchedPtr& side, const cudaPos& position, const cudaExtent& extent) {
  const bool rows = extent.height > 1 || extent.depth > 1;
  require(side.ptr, cudaErrorInvalidValue);
  require(!rows || position.x + extent.width <= side.pitch, cudaErrorInvalidValue);
  require(extent.depth <= 1 || position.y + extent.height <= side.ysize, cudaErrorInvalidValue);
  return static_cast<char*>(side.ptr) + (position.z * side.ysize + position.y) * side.pitch + position.x;
}

}  // namespace

Transfer simt::box_copy(const cudaMemcpy3DParms* params) {
  require(params && !params->srcArray && !params->dstArray, cudaErrorInvalidValue);
  const cudaPitchedPtr &to = params->dstPtr, &from = params->srcPtr;
  const cudaExtent& extent = params->extent;
  Transfer copy = {.name = "a copy"};
  copy.to = begin_of(to, params->dstPos, extent);
  copy.from = begin_of(from, params->srcPos, extent);
  copy.to_pitch = to.pitch;
  copy.from_pitch = from.pitch;
  copy.width = extent.width;
  copy.height = extent.height;
  copy.depth = extent.depth;
  copy.to_slice = to.pitch * to.ysize;
  copy.from_slice = from.pitch * from.ysize;
  copy.kind = params->kind;
  return copy;
}

std::shared_ptr<Operation> simt::copy_operation(Runtime& runtime, Transfer copy) {
  const Places places(runtime.memory, copy);
  return make_copy(runtime.memory, copy, places);
}

std::shared_ptr<Operation> simt::fill_operation(Runtime& runtime, Transfer fill) {
  fill.name = "a fill";
  const Place place = examine(runtime.memory, fill.to, fill.to_bytes(), Side::device);
  fill.to_device = place.device;
  auto operation = std::make_shared<Operation>();
  operation->transfer = fill;
  operation->pieces = fill.rows() == 1 ? (fill.width + kPieceBytes - 1) / kPieceBytes : 1;
  operation->run = [fill, allocations = std::make_shared<Allocations>(
                              runtime.memory, fill.name, std::initializer_list{place})](uint64_t piece) {
    if (Fault fault = allocations->check(); fault.error != cudaSuccess) return fault;
    const size_t begin = piece * kPieceBytes;
    for (size_t row = 0; row < fill.rows(); ++row)
      fill_row(fill, fill.to_row(row) + begin,
               fill.rows() == 1 ? std::min(kPieceBytes, fill.width - begin) : fill.width);
    return Fault{};
  };
  return operation;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api([&](Runtime& runtime) {
    runtime.current_device();
    return copy_on_stream(runtime, flat_copy(to, from, bytes, kind), cudaStreamLegacy, Wait::synchronous);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return api([&](Runtime& runtime) {
    return copy_on_stream(runtime, flat_copy(to, from, bytes, kind), stream, Wait::as_cuda);
  });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return api([&](Runtime& runtime) {
    const Transfer copy = rows(to, to_pitch, from, from_pitch, width, height, kind);
    runtime.current_device();
    return copy_on_stream(runtime, copy, cudaStreamLegacy, Wait::synchronous);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return api([&](Runtime& runtime) {
    return copy_on_stream(runtime, rows(to, to_pitch, from, from_pitch, width, height, kind), stream,
                          Wait::as_cuda);
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* params) {
  return api([&](Runtime& runtime) {
    const Transfer copy = box_copy(params);
    runtime.current_device();
    return copy_on_stream(runtime, copy, cudaStreamLegacy, Wait::synchronous);
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* params, cudaStream_t stream) {
  return api(
      [&](Runtime& runtime) { return copy_on_stream(runtime, box_copy(params), stream, Wait::as_cuda); });
}

// Serialised with all work of the three devices involved, which is stricter than other copies.
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return api([&](Runtime& runtime) {
    check_peers(runtime, to, to_device, from, from_device, bytes);
    std::vector<TaskPtr> tasks;
    Clock waited;
    {
      std::lock_guard lock(runtime.mutex);
      runtime.forbid_during_capture();
      runtime.current_device();
      for (const int ordinal : {host_thread().device, to_device, from_device}) {
        Device& device = *runtime.devices[static_cast<size_t>(ordinal)];
        for (TaskPtr& task : runtime.pending(device)) tasks.push_back(std::move(task));
        waited.join(runtime.after(device));
      }
    }
    for (const int device : {host_thread().device, to_device, from_device}) {
      const cudaError_t failure = wait_for(tasks, device, waited);
      require(failure == cudaSuccess, failure);
    }
    return copy_on_stream(runtime, flat_copy(to, from, bytes, cudaMemcpyDeviceToDevice), cudaStreamLegacy,
                          Wait::always);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t handle) {
  return api([&](Runtime& runtime) {
    check_peers(runtime, to, to_device, from, from_device, bytes);
    {
      std::lock_guard lock(runtime.mutex);
      const auto stream = runtime.stream(handle);
      // As on GPUs: only the copy by unified address (cudaMemcpyAsync) can be captured.
      if (stream->capture) {
        stream->capture->invalidated = true;
        return cudaErrorStreamCaptureUnsupported;
      }
    }
    return copy_on_stream(runtime, flat_copy(to, from, bytes, cudaMemcpyDeviceToDevice), handle, Wait::never);
  });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, cudaStreamLegacy);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t handle) {
  return api([&](Runtime& runtime) {
    if (bytes == 0) return cudaSuccess;
    Transfer fill = {.to = to, .to_pitch = bytes, .width = bytes};
    fill.value = static_cast<unsigned>(value);
    return runtime.submit(handle, fill_operation(runtime, fill), "a fill");
  });
}
