// The operands of a call: a list of their sizes and first values, and their memory, once or many times.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/runtime/buffer.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace rondo::bench {

// An operand of an OperandList, with elements of type T.
template <class T>
struct OperandId {
  size_t index = 0;
};

// What a call does with an operand.
enum class Role { input, result, updated, scratch };  // updated: reads and writes it
// normal: N(0, 1). uniform: from 0 to 1. ramp: from -1 to 1 in equal steps, again after 251 elements. count:
// 0, 1, 2, ... of int32, again after Operand::period elements.
enum class Fill { nothing, normal, uniform, ramp, count };

struct Operand {
  int64_t elements = 0;
  DType type = DType::uint8;
  Role role = Role::input;
  Fill fill = Fill::nothing;
  std::vector<unsigned char> bytes = {};  // its contents, instead of `fill`
  int64_t period = 1;                     // of Fill::count
  int64_t unread = 0;                     // elements that no call needs to read
  int64_t byte_count() const;             // INT64_MAX if it does not fit
};

class OperandList {
 public:
  template <class T>
  OperandId<T> add(int64_t elements, Role role, Fill fill = Fill::nothing) {
    return append<T>({elements, dtype_of<T>, role, fill});
  }
  template <class T>
  OperandId<T> input(int64_t elements, Fill fill = Fill::normal) {
    return add<T>(elements, Role::input, fill);
  }
  template <class T>
  OperandId<T> result(int64_t elements) {
    return add<T>(elements, Role::result);
  }
  // With these contents. T: any type without a destructor; its id is that of bytes.
  template <class T>
  OperandId<uint8_t> input_of(const std::vector<T>& values, Role role = Role::input) {
    Operand operand = {static_cast<int64_t>(values.size() * sizeof(T)), DType::uint8, role};
    operand.bytes.resize(values.size() * sizeof(T));
    std::memcpy(operand.bytes.data(), values.data(), operand.bytes.size());
    return append<uint8_t>(std::move(operand));
  }
  // i % period, for i from 0.
  OperandId<int32_t> counts(int64_t elements, int64_t period) {
    return append<int32_t>({elements, DType::int32, Role::input, Fill::count, {}, period});
  }
  // The call reads only so many elements of an input.
  template <class T>
  void reads_only(OperandId<T> id, int64_t elements) {
    operands_[id.index].unread = operands_[id.index].elements - elements;
  }
  OperandId<uint8_t> scratch(int64_t bytes) { return add<uint8_t>(bytes, Role::scratch); }

  const std::vector<Operand>& all() const { return operands_; }
  // Inputs are read once, without what is unread; results are written once; scratch memory does not count.
  double least_bytes() const;

 private:
  template <class T>
  OperandId<T> append(Operand operand) {
    operands_.push_back(std::move(operand));
    return {operands_.size() - 1};
  }
  std::vector<Operand> operands_;
};

// One set of operands: pointers to device memory.
class Operands {
 public:
  Operands(unsigned char* base, const std::vector<int64_t>* offsets) : base_(base), offsets_(offsets) {}
  template <class T>
  T* operator[](OperandId<T> id) const {
    return reinterpret_cast<T*>(base_ + (*offsets_)[id.index]);
  }
  template <class T>
  T* as(OperandId<uint8_t> id) const {
    return reinterpret_cast<T*>((*this)[id]);
  }

 private:
  unsigned char* base_;
  const std::vector<int64_t>* offsets_;
};

// Several sets of the same operands with the same contents, each at addresses of its own in one allocation.
// Every operand begins at a multiple of 256 bytes, as those of cudaMalloc() do.
class OperandSets {
 public:
  // `prepare` completes the contents of a set, which has the first values, once. Throws rondo::Error.
  OperandSets(const OperandList& list, int64_t count,
              const std::function<void(const Operands&)>& prepare = nullptr);

  int64_t count() const { return count_; }
  int64_t set_bytes() const { return set_bytes_; }
  // The set of call `index`: they take turns.
  Operands set(int64_t index) const {
    return {const_cast<unsigned char*>(memory_.data()) + index % count_ * set_bytes_, &offsets_};
  }
  const std::vector<Operand>& operands() const { return operands_; }

  static int64_t bytes_of_set(const OperandList& list);

 private:
  std::vector<Operand> operands_;
  int64_t count_, set_bytes_ = 0;
  std::vector<int64_t> offsets_;
  Buffer<unsigned char> memory_;
};

// The operands of the first set in host memory, before and after a call.
class HostOperands {
 public:
  // Downloads the operands that a call updates, and sets its results to NaN.
  explicit HostOperands(const OperandSets& sets);
  // Downloads all operands but scratch memory.
  void download_after();

  template <class T>
  const T* after(OperandId<T> id) const {
    return reinterpret_cast<const T*>(after_[id.index].data());
  }
  template <class T>
  const T* before(OperandId<T> id) const {
    return reinterpret_cast<const T*>(before_[id.index].data());
  }

 private:
  using Bytes = std::vector<unsigned char>;
  Bytes download(size_t index) const;

  const OperandSets& sets_;
  std::vector<Bytes> before_, after_;
};

}  // namespace rondo::bench
