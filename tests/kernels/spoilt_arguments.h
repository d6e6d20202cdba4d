// Arguments: supplies the arguments of one call of an operation, and makes one of them invalid ("spoils" it).
//
// A call requests its sizes, operands, workspace and enumerators by name. Each can be spoilt in several ways,
// which are numbered in the order of the requests. The test makes the call once with good arguments to count
// the ways, and then once for each way. The operands lie in one block of device memory, which a refused call
// must not change.
#pragma once

#include <gtest/gtest.h>

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rondo::test {

class Arguments {
 public:
  // The memory of the calls: one slot for each operand, which begins in the middle of its slot.
  class Memory {
   public:
    Memory() : bytes_(kSlots * kSlotBytes) { bytes_.fill_bytes(0); }
    std::byte* begin_of(int operand) { return bytes_.data() + operand * kSlotBytes + kSlotBytes / 2; }
    bool is(const std::vector<std::byte>& contents) const {
      return std::memcmp(bytes_.download().data(), contents.data(), contents.size()) == 0;
    }
    std::vector<std::byte> contents() const { return bytes_.download(); }
    std::byte* on_host() { return on_host_.data(); }

   private:
    Buffer<std::byte> bytes_;
    std::vector<std::byte> on_host_ = std::vector<std::byte>(kSlotBytes);
  };
  // No operand may have more elements. The bytes of one that does are more than its memory can have.
  static constexpr int64_t kMaxSize = int64_t{1} << 57;
  static constexpr int64_t kSlots = 14, kSlotBytes = 160 << 10, kMaxBytes = kSlotBytes / 2;

  enum class Must { succeed, be_refused };
  struct Operand {
    std::string name;
    int64_t bytes;
    std::vector<std::string> may_be;
  };

  explicit Arguments(Memory& memory) : memory_(memory) {}
  // The same call again, spoilt in way number `way`, or not spoilt if it is negative. `first` is the first
  // call, for which the other operands are not known yet, so that it counts no overlaps.
  Arguments(Memory& memory, const Arguments& first, int way = -1)
      : memory_(memory), way_(way), good_operands_(first.operands_) {}

  int ways() const { return count_; }
  const std::string& spoilt() const { return spoilt_; }  // a description of what is spoilt
  Must must() const { return must_; }

  // `low`: the smallest allowed value.
  int64_t size(const char* name, int64_t good, int64_t low = 0) {
    constexpr int64_t kHuge = int64_t{1} << 62;
    std::set<int64_t> all = {low - 1, kHuge, kHuge + 1, kHuge + 4, INT64_MAX};
    // With which the bytes of an operand, if it grows with this size, are a few more than 2^64.
    for (const Operand& operand : good_operands_)
      if (good > 0 && operand.bytes % good == 0 && operand.bytes >= 3 * good)
        all.insert(static_cast<int64_t>(UINT64_MAX / static_cast<uint64_t>(operand.bytes / good)) + 1);
    for (const int64_t bad : all)
      if (bad < low || bad > kMaxSize)
        if (spoil(concat(name, " = ", bad))) return bad;
    return good;
  }
  template <class Enum>
  Enum enumerator(const char* name, Enum good) {
    for (const int bad : {77, -1})
      if (spoil(concat(name, " = ", bad))) return static_cast<Enum>(bad);
    return good;
  }
  template <class View>
  View input(const char* name, View view) {
    return operand(name, view, false, {});
  }
  template <class View>
  View output(const char* name, View view, std::vector<std::string> may_be = {}) {
    return operand(name, view, true, std::move(may_be));
  }
  // An array of pointers, which no operation writes. The good calls, which come first, set the pointers: to
  // matrices of `bytes` each, behind the operands.
  template <class T>
  MatrixPointersView<T> pointers(const char* name, MatrixPointersView<T> view, int64_t bytes) {
    view = input(name, view);
    if (way_ >= 0) return view;
    std::byte* const matrices = memory_.begin_of(static_cast<int>(kSlots - std::ssize(operands_)));
    EXPECT_LE(view.batches * bytes, kMaxBytes);
    std::vector<std::byte*> addresses;
    for (int64_t i = 0; i < view.batches; ++i) addresses.push_back(matrices + i * bytes);
    throw_if_error(from_cuda(cudaMemcpy(const_cast<std::remove_const_t<T>**>(view.data), addresses.data(),
                                        addresses.size() * sizeof(std::byte*), cudaMemcpyHostToDevice),
                             "cudaMemcpy"));
    return view;
  }
  template <class T>
  const T* input_value(const char* name) {
    return input(name, VectorView<const T>{nullptr, 1}).data;
  }
  template <class T>
  const T* optional_value(const char* name) {
    return operand(name, VectorView<const T>{nullptr, 1}, false, {}, true).data;
  }
  template <class T>
  T* output_value(const char* name) {
    return output(name, VectorView<T>{nullptr, 1}).data;
  }
  Workspace workspace(int64_t bytes) {
    const int64_t lent = std::clamp<int64_t>(bytes, 16, kMaxBytes);
    std::byte* data = place("workspace", lent, {});
    Workspace workspace = {data, lent};
    if (bytes > 0 && spoil("the workspace is a byte too small")) workspace.bytes = bytes - 1;
    if (spoil("the workspace is null")) workspace.data = nullptr;
    if (spoil("the workspace is misaligned")) workspace.data = data + 8;
    if (spoil("the workspace has a negative size")) workspace.bytes = -16;
    for (size_t i = 0; i < good_operands_.size(); ++i)
      if (good_operands_[i].name != "workspace" &&
          spoil(concat("the workspace overlaps ", good_operands_[i].name)))
        workspace.data = memory_.begin_of(static_cast<int>(i));
    return workspace;
  }

 private:
  // Counts a way, and returns whether the call is to be spoilt in this way.
  bool spoil(const std::string& how) {
    if (count_++ != way_) return false;
    spoilt_ = how;
    must_ = Must::be_refused;
    return true;
  }

  // The bytes from the first to the last element of a good argument.
  static int64_t bytes_of(const OperandShape& shape) {
    int64_t elements = 1;
    if (shape.dimensions == 2)
      elements = (shape.sides[0] - 1) * shape.stride + shape.sides[1];
    else if (shape.dimensions == 3)
      elements =
          (shape.sides[0] - 1) * shape.batch_stride + (shape.sides[1] - 1) * shape.stride + shape.sides[2];
    else
      for (int i = 0; i < shape.dimensions; ++i) elements *= shape.sides[static_cast<size_t>(i)];
    EXPECT_LE(elements * shape.element_bytes, kMaxBytes);
    return elements * shape.element_bytes;
  }

  std::byte* place(const char* name, int64_t bytes, std::vector<std::string> may_be) {
    operands_.push_back({name, bytes, std::move(may_be)});
    return memory_.begin_of(static_cast<int>(operands_.size()) - 1);
  }

  template <class View>
  View operand(const char* name, View view, bool written, std::vector<std::string> may_be,
               bool may_be_null = false) {
    using T = std::remove_pointer_t<decltype(view.data)>;
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    std::byte* data = place(name, good_operands_.empty() ? bytes_of(shape_of(view)) : 0, may_be);
    if (!may_be_null && spoil(concat(name, " is null"))) data = nullptr;
    if (alignof(T) > 1 && spoil(concat(name, " is misaligned"))) data += alignof(T) / 2;
    if (std::string_view(platform()) == "cpu" && spoil(concat(name, " is memory of the host")))
      data = memory_.on_host();
    for (size_t i = 0; written && i < good_operands_.size(); ++i) {
      const Operand& other = good_operands_[i];
      if (other.name == name || other.name == "workspace") continue;
      std::byte* begin = memory_.begin_of(static_cast<int>(i));
      const auto allows = [](const std::vector<std::string>& names, const std::string& wanted) {
        return std::find(names.begin(), names.end(), wanted) != names.end();
      };
      if (spoil(concat(name, " is ", other.name))) {
        data = begin;
        if (allows(may_be, other.name) || allows(other.may_be, name)) must_ = Must::succeed;
      }
      if (spoil(concat("the last element of ", name, " lies in ", other.name)))
        data = begin - (good_operands_[operands_.size() - 1].bytes - static_cast<int64_t>(sizeof(T)));
      // One element further. An operand of one element would then lie beside the other and not overlap it.
      if (other.bytes > static_cast<int64_t>(sizeof(T)) && spoil(concat(name, " begins in ", other.name)))
        data = begin + sizeof(T);
    }
    view.data = reinterpret_cast<T*>(static_cast<Byte*>(data));
    return view;
  }

  Memory& memory_;
  int way_ = -1;
  std::vector<Operand> good_operands_;  // the operands of the good call
  std::vector<Operand> operands_;
  int count_ = 0;
  std::string spoilt_;
  Must must_ = Must::succeed;
};

}  // namespace rondo::test
