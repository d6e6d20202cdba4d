// The operands of one call of an operation, for tests of all operations.
#pragma once

#include <rondo/tests/kernels/operations/output.h>
#include <rondo/tests/kernels/tf32_values.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace rondo::test {

enum class Values {
  exact,   // sums of them are exact in any order
  normal,  // sums of them are rounded
};

// The operands of one call. Each lies `offset` elements behind an address aligned to 256 bytes, except that
// operand number `which` lies `other_offset` elements behind one.
class Operands {
 public:
  explicit Operands(int64_t offset, int which = -1, int64_t other_offset = 0, Values values = Values::exact)
      : offset_(offset), other_offset_(other_offset), which_(which), values_(values) {}

  // The values of the next operand.
  std::vector<float> values(int64_t size) const {
    const auto seed = static_cast<uint64_t>(count_ + 1);
    return values_ == Values::exact ? exact_values(size, seed) : without_ties(normal_values(size, seed));
  }
  template <class T>
  std::vector<T> values_of(int64_t size) const {
    const std::vector<float> floats = values(size);
    return std::vector<T>(floats.begin(), floats.end());
  }

  template <class T = float>
  T* in(const std::vector<T>& values) {
    return keep<T>(std::make_shared<GuardedBuffer<T>>(values, next()));
  }
  // An operand whose rows must begin at multiples of 16 bytes, wherever the others begin.
  template <class T>
  T* in_aligned(const std::vector<T>& values) {
    return keep<T>(std::make_shared<GuardedBuffer<T>>(values));
  }
  float* in(int64_t size) { return in(values(size)); }
  template <class T = float>
  T* out(int64_t size) {
    return written<T>(std::make_shared<GuardedBuffer<T>>(size, next()));
  }
  template <class T = float>
  T* in_out(const std::vector<T>& values) {
    return written<T>(std::make_shared<GuardedBuffer<T>>(values, next()));
  }
  float* in_out(int64_t size) { return in_out(values(size)); }
  // Workspaces and the structs of a step (AdamState, LossStats) have a required alignment, which operations
  // check.
  Workspace workspace(int64_t bytes) {
    const auto buffer = std::make_shared<GuardedBuffer<unsigned char>>(bytes);
    kept_.push_back(buffer);
    return buffer->workspace();
  }
  template <class T>
  T* aligned(const T& value) {
    return keep<T>(std::make_shared<GuardedBuffer<T>>(std::vector<T>{value}));
  }
  // A struct that the operation changes. `set` sets members of one whose bytes are all 0.
  template <class T, class Set>
  T* aligned_out(Set&& set) {
    std::vector<T> one(1);
    std::memset(static_cast<void*>(one.data()), 0, sizeof(T));
    set(one[0]);
    return written<T>(std::make_shared<GuardedBuffer<T>>(one));
  }
  const Stream& stream() const { return stream_; }

  int count() const { return count_; }
  std::vector<Output> outputs() const {
    std::vector<Output> all;
    for (const auto& download : downloads_) all.push_back(download());
    return all;
  }
  // The bytes of all outputs.
  std::vector<unsigned char> results() const {
    std::vector<unsigned char> bytes;
    for (const Output& output : outputs())
      bytes.insert(bytes.end(), output.bytes.begin(), output.bytes.end());
    return bytes;
  }

 private:
  int64_t next() { return count_++ == which_ ? other_offset_ : offset_; }
  template <class T>
  T* keep(const std::shared_ptr<GuardedBuffer<T>>& buffer) {
    kept_.push_back(buffer);
    return buffer->data();
  }
  template <class T>
  T* written(const std::shared_ptr<GuardedBuffer<T>>& buffer) {
    downloads_.push_back([buffer] { return output_of(buffer->download()); });
    return keep<T>(buffer);
  }

  int64_t offset_, other_offset_;
  int which_, count_ = 0;
  Values values_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::function<Output()>> downloads_;
  Stream stream_;
};

}  // namespace rondo::test
