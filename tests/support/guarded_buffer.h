// GuardedBuffer: device memory in which a wrong index shows.
//
// The elements lie between two guard zones and start as poison (a NaN in float), so that
// reading what was never written gives NaN and writing outside is found when the buffer goes. `offset` shifts
// the first element away from its 256-byte alignment, in elements: vector paths must cope with pointers that
// are aligned to one element only.
#pragma once

#include <gtest/gtest.h>

#include <rondo/kernels/core/buffer.h>
#include <rondo/kernels/core/view.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace rondo::test {

template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t size, int64_t offset = 0)
      : size_(size), begin_(kGuardBytes + offset * static_cast<int64_t>(sizeof(T))), memory_(total_bytes()) {
    const auto bytes = static_cast<size_t>(memory_.size());
    const std::vector<uint32_t> words(bytes / sizeof(uint32_t) + 1, poison());
    memory_.upload({reinterpret_cast<const unsigned char*>(words.data()), bytes});
  }
  explicit GuardedBuffer(const std::vector<T>& values, int64_t offset = 0)
      : GuardedBuffer(static_cast<int64_t>(values.size()), offset) {
    upload(values);
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // Nobody can forget the check: it is made here.
  ~GuardedBuffer() {
    try {
      EXPECT_TRUE(guards_intact());
    } catch (const std::exception& error) {
      ADD_FAILURE() << "the guards could not be read: " << error.what();
    }
  }

  T* data() { return reinterpret_cast<T*>(memory_.data() + begin_); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data() + begin_); }
  int64_t size() const { return size_; }
  VectorView<T> view() { return {data(), size_}; }
  Workspace workspace() { return {data(), size_ * static_cast<int64_t>(sizeof(T))}; }

  void upload(const std::vector<T>& values) {
    ASSERT_EQ(static_cast<int64_t>(values.size()), size_);
    if (size_ == 0) return;
    const DeviceScope scope(device_);
    RONDO_CUDA_THROW(cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));  // for streams that do not wait for it
  }

  // Waits for everything that runs on the buffer's device, then copies the elements.
  std::vector<T> download() const {
    const DeviceScope scope(device_);
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
    std::vector<T> values(static_cast<size_t>(size_));
    if (size_ > 0)
      RONDO_CUDA_THROW(cudaMemcpy(values.data(), data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

  testing::AssertionResult guards_intact() const {
    const DeviceScope scope(device_);
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
    const auto front = guard_intact(0, begin_);
    return front ? guard_intact(begin_ + size_ * static_cast<int64_t>(sizeof(T)), memory_.size()) : front;
  }

 private:
  static constexpr int64_t kGuardBytes = 512;  // a multiple of every alignment in use

  // A signalling NaN as float, whose lower half is the buffer's own: a kernel that reads beyond one buffer
  // and writes beyond another cannot leave the poison as it was, neither by copying nor by computing with it.
  uint32_t poison() const { return 0xFFBF'0000u | (number_ & 0xFFFFu); }

  // Bytes [begin, end).
  testing::AssertionResult guard_intact(int64_t begin, int64_t end) const {
    std::vector<unsigned char> found(static_cast<size_t>(end - begin));
    RONDO_CUDA_THROW(cudaMemcpy(found.data(), memory_.data() + begin, found.size(), cudaMemcpyDeviceToHost));
    for (int64_t i = begin; i < end; ++i)
      if (found[static_cast<size_t>(i - begin)] != static_cast<unsigned char>(poison() >> (8 * (i % 4))))
        return testing::AssertionFailure()
               << "a write outside the buffer of " << size_ << " elements, at byte " << i - begin_
               << " from its first element";
    return testing::AssertionSuccess();
  }
  static unsigned next_number() {
    static std::atomic<unsigned> count = 0;
    return ++count;
  }
  int64_t total_bytes() const { return begin_ + size_ * static_cast<int64_t>(sizeof(T)) + kGuardBytes; }

  static int current_device() {
    int device = 0;
    RONDO_CUDA_THROW(cudaGetDevice(&device));
    return device;
  }

  unsigned number_ = next_number();
  int device_ = current_device();
  int64_t size_;
  int64_t begin_;
  Buffer<unsigned char> memory_;
};

}  // namespace rondo::test
