// GuardedBuffer: device memory that detects accesses out of range.
//
// The elements lie between two guard zones and are initialised with poison (a NaN as float). Reading an
// element that was never written therefore gives NaN, and the destructor detects a write outside the
// elements. `offset` shifts the first element away from its 256-byte alignment, in elements, because
// vectorised paths must handle pointers that are aligned to one element only.
//
// With the address sanitizer, the guard zones and all elements outside of a matrix() are poisoned for it too.
// A kernel, copy or memset that touches them ends the program with a report of the location, even if the
// value read is not used. The sanitizer keeps one state for each 8 bytes: how many of them, counted from the
// first, are accessible. A zone can therefore begin at any byte. Where an element follows the zone within the
// same 8 bytes, the up to 7 bytes before that element stay accessible: before the first element if `offset`
// misaligns it to 8 bytes, and before each row of a matrix that is misaligned to 8 bytes.
//
// With the executor's race detector (SIMT_CHECK=1) the memory stays as it was allocated, which is NaN too. It
// then reports each read of an element or a guard zone that was not written, even if the value is not used.
#pragma once

#include <cuda_runtime.h>  // the executor's defines __SIMT__
#include <gtest/gtest.h>

#include <rondo/kernels/core/view.h>
#include <rondo/kernels/runtime/buffer.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

// For the executor's memory only: the sanitizer does not track memory of a GPU.
#ifdef __SIMT__
#ifdef __SANITIZE_ADDRESS__
#define RONDO_POISONS_FOR_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RONDO_POISONS_FOR_SANITIZER
#endif
#endif
#endif
#ifdef RONDO_POISONS_FOR_SANITIZER
#include <sanitizer/asan_interface.h>
#endif
#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo::test {

#ifdef RONDO_POISONS_FOR_SANITIZER
inline void poison_bytes(const void* begin, int64_t bytes) {
  __asan_poison_memory_region(begin, static_cast<size_t>(bytes));
}
inline void open_bytes(const void* begin, int64_t bytes) {
  __asan_unpoison_memory_region(begin, static_cast<size_t>(bytes));
}
#else
inline void poison_bytes(const void*, int64_t) {}
inline void open_bytes(const void*, int64_t) {}
#endif

template <class T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t size, int64_t offset = 0)
      : size_(size), begin_(kGuardBytes + offset * static_cast<int64_t>(sizeof(T))), memory_(total_bytes()) {
    if (!stays_unwritten()) {
      const auto bytes = static_cast<size_t>(memory_.size());
      const std::vector<uint32_t> words(bytes / sizeof(uint32_t) + 1, poison());
      memory_.upload({reinterpret_cast<const unsigned char*>(words.data()), bytes});
    }
    close();
  }
  explicit GuardedBuffer(const std::vector<T>& values, int64_t offset = 0)
      : GuardedBuffer(static_cast<int64_t>(values.size()), offset) {
    upload(values);
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // Checks the guard zones, so that no test can forget to.
  ~GuardedBuffer() {
    try {
      EXPECT_TRUE(guards_intact());
    } catch (const std::exception& error) {
      ADD_FAILURE() << "the guards could not be read: " << error.what();
    }
    open();
  }

  T* data() { return reinterpret_cast<T*>(memory_.data() + begin_); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data() + begin_); }
  int64_t size() const { return size_; }
  VectorView<T> view() { return {data(), size_}; }
  Workspace workspace() { return {data(), size_ * static_cast<int64_t>(sizeof(T))}; }

  // A view of rows of `cols` elements, `stride` apart, from element `first` on. Poisons all other elements.
  MatrixView<T> matrix(int64_t rows, int64_t cols, int64_t stride, int64_t first = 0) {
    poison_outside({data() + first, rows, cols, stride});
    return {data() + first, rows, cols, stride};
  }
  MatrixView<const T> matrix(int64_t rows, int64_t cols, int64_t stride, int64_t first = 0) const {
    poison_outside({data() + first, rows, cols, stride});
    return {data() + first, rows, cols, stride};
  }
  // For tests of this class: makes the guard zones accessible, also under the sanitizer.
  void leave_open() {
    left_open_ = true;
    open();
  }

  void upload(const std::vector<T>& values) {
    ASSERT_EQ(static_cast<int64_t>(values.size()), size_);
    if (size_ == 0) return;
    const Opened opened(*this);
    const DeviceScope scope(device_);
    RONDO_CUDA_THROW(cudaMemcpy(data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    // Streams that do not wait for the legacy stream need the data too.
    RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
  }

  // Waits for all work on the buffer's device, then copies the elements.
  std::vector<T> download() const {
    const DeviceScope scope(device_);
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
    std::vector<T> values(static_cast<size_t>(size_));
    const Opened opened(*this);
    if (size_ > 0)
      RONDO_CUDA_THROW(cudaMemcpy(values.data(), data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

  // Whether the memory is left as it was allocated.
  static bool stays_unwritten() {
#ifdef __SIMT__
    return simt::settings().check;
#else
    return false;
#endif
  }

  testing::AssertionResult guards_intact() const {
    const DeviceScope scope(device_);
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
    const Opened opened(*this);
    const auto front = guard_intact(0, begin_);
    return front ? guard_intact(begin_ + size_ * static_cast<int64_t>(sizeof(T)), memory_.size()) : front;
  }

 private:
  static constexpr int64_t kGuardBytes = 512;  // a multiple of every alignment in use

  // A signalling NaN as float whose lower half is the buffer's number. A kernel that reads beyond one buffer
  // and writes beyond another therefore changes the poison, whether it copies the value or computes with it.
  uint32_t poison() const { return stays_unwritten() ? ~0u : 0xFFBF'0000u | (number_ & 0xFFFFu); }

  // Unpoisons the memory while the buffer itself accesses it.
  struct Opened {
    explicit Opened(const GuardedBuffer& of) : buffer(of) { buffer.open(); }
    ~Opened() { buffer.close(); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    const GuardedBuffer& buffer;
  };
  void open() const { open_bytes(memory_.data(), memory_.size()); }
  void close() const {
    if (left_open_) return;
    const unsigned char* past = memory_.data();  // end of the bytes that are handled
    const auto poison_up_to = [&](const void* end) {
      poison_bytes(past, static_cast<const unsigned char*>(end) - past);
    };
    const auto leave_out = [&](const T* elements, int64_t count) {
      poison_up_to(elements);
      past = reinterpret_cast<const unsigned char*>(elements + count);
    };
    if (!matrix_.data) leave_out(data(), size_);
    for (int64_t row = 0; row < matrix_.rows; ++row)
      leave_out(matrix_.data + row * matrix_.stride, matrix_.cols);
    poison_up_to(memory_.data() + memory_.size());
  }
  void poison_outside(MatrixView<const T> matrix) const {
    matrix_ = matrix;
    open();
    close();
  }

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
  mutable MatrixView<const T> matrix_;  // the accessible elements; without data: all
  bool left_open_ = false;
  Buffer<unsigned char> memory_;
};

}  // namespace rondo::test
