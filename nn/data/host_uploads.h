// HostUploads: copies from host memory to a device, through pinned memory, without waiting for the device.
//
// CUDA does not promise that cudaMemcpyAsync() has read pageable memory when it returns. So the host copies
// the data to pinned memory first, and an event records when the device has read it.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/runtime/pinned_memory.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace rondo {

class HostUploads {
 public:
  // `stream` is a stream of `device` and must live until the last enqueue(). Up to `ahead` calls of
  // enqueue() may be unfinished; the next one waits for the oldest. Pinned memory grows to `ahead` times the
  // largest call. Throws rondo::Error.
  HostUploads(int device, cudaStream_t stream, int ahead = 2);
  ~HostUploads();  // waits for the copies
  HostUploads(HostUploads&&) noexcept = default;
  HostUploads& operator=(HostUploads&&) = delete;

  struct Part {
    void* to;
    std::span<const std::byte> from;
  };
  // Enqueues the copies of all parts. Memory `from` may be reused after the call, unless it is pinned: that
  // is read in stream order, without a further copy. Throws rondo::Error: bad_argument for memory of a
  // device.
  void enqueue(std::initializer_list<Part> parts);

 private:
  struct Slot {
    Event copied{Event::Kind::blocking};
    bool in_use = false;
    PinnedMemory memory;
  };

  int device_;
  cudaStream_t stream_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

// The copy of `all` to `to`.
template <class T>
HostUploads::Part upload_of(T* to, std::span<const T> all) {
  return {to, std::as_bytes(all)};
}

}  // namespace rondo
