// Arguments: hands out the arguments of one call of an operation, and spoils one of them.
//
// A call asks for its sizes, operands, workspace and enumerators by name. Each can be spoilt in several ways,
// which are numbered in the order in which the call asks. So a call is made once with good arguments, which
// counts the ways, and then once for each of them. The operands lie in one block of device memory, which a
// refused call must not change.
#pragma once

#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/view.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace rondo::test {

class Arguments {
 public:
  // The memory of the calls: a room for each operand, whose middle is the operand's begin.
  class Memory {
   public:
    Memory() : bytes_(kRooms * kRoomBytes) { bytes_.fill_bytes(0); }
    std::byte* begin_of(int operand) { return bytes_.data() + operand * kRoomBytes + kRoomBytes / 2; }
    std::vector<std::byte> contents() const { return bytes_.download(); }

   private:
    Buffer<std::byte> bytes_;
  };
  static constexpr int64_t kRooms = 14, kRoomBytes = 160 << 10, kMostBytes = kRoomBytes / 2;

  enum class Must { succeed, be_refused };
  struct Operand {
    std::string name;
    int64_t bytes;
    std::vector<std::string> may_be;
  };

  explicit Arguments(Memory& memory) : memory_(memory) {}
  // The same call once more, spoilt in way number `way`, or in none. `first` is the first call, which knows no
  // other operands yet and so counts no overlaps.
  Arguments(Memory& memory, const Arguments& first, int way = -1)
      : memory_(memory), way_(way), known_(first.operands_) {}

  int ways() const { return count_; }
  const std::string& spoilt() const { return spoilt_; }  // how
  Must must() const { return must_; }

  // `low`: the least value that is allowed.
  int64_t size(const char* name, int64_t good, int64_t low = 0) {
    constexpr int64_t kHuge = int64_t{1} << 62;
    for (const int64_t bad : {low - 1, kHuge, kHuge + 1, kHuge + 4, INT64_MAX})
      if (now(concat(name, " = ", bad))) return bad;
    return good;
  }
  template <class Enum>
  Enum enumerator(const char* name, Enum good) {
    for (const int bad : {77, -1})
      if (now(concat(name, " = ", bad))) return static_cast<Enum>(bad);
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
    const int64_t lent = std::clamp<int64_t>(bytes, 16, kMostBytes);
    std::byte* data = place("workspace", lent, {});
    Workspace workspace = {data, lent};
    if (bytes > 0 && now("the workspace is a byte too small")) workspace.bytes = bytes - 1;
    if (now("the workspace is null")) workspace.data = nullptr;
    if (now("the workspace is misaligned")) workspace.data = data + 8;
    if (now("the workspace has a negative size")) workspace.bytes = -16;
    for (size_t i = 0; i < known_.size(); ++i)
      if (known_[i].name != "workspace" && now(concat("the workspace overlaps ", known_[i].name)))
        workspace.data = memory_.begin_of(static_cast<int>(i));
    return workspace;
  }

 private:
  // Whether the way that comes next is the one to be taken.
  bool now(const std::string& how) {
    if (count_++ != way_) return false;
    spoilt_ = how;
    must_ = Must::be_refused;
    return true;
  }

  // From the first to the last element, of good arguments.
  static int64_t bytes_of(const OperandShape& shape) {
    int64_t elements = 1;
    if (shape.dimensions == 2)
      elements = (shape.sides[0] - 1) * shape.stride + shape.sides[1];
    else
      for (int i = 0; i < shape.dimensions; ++i) elements *= shape.sides[static_cast<size_t>(i)];
    EXPECT_LE(elements * shape.element_bytes, kMostBytes);
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
    std::byte* data = place(name, known_.empty() ? bytes_of(shape_of(view)) : 0, may_be);
    if (!may_be_null && now(concat(name, " is null"))) data = nullptr;
    if (alignof(T) > 1 && now(concat(name, " is misaligned"))) data += alignof(T) / 2;
    for (size_t i = 0; written && i < known_.size(); ++i) {
      const Operand& other = known_[i];
      if (other.name == name || other.name == "workspace") continue;
      std::byte* begin = memory_.begin_of(static_cast<int>(i));
      const auto allows = [](const std::vector<std::string>& names, const std::string& wanted) {
        return std::find(names.begin(), names.end(), wanted) != names.end();
      };
      if (now(concat(name, " is ", other.name))) {
        data = begin;
        if (allows(may_be, other.name) || allows(other.may_be, name)) must_ = Must::succeed;
      }
      if (now(concat("the last element of ", name, " lies in ", other.name)))
        data = begin - (known_[operands_.size() - 1].bytes - static_cast<int64_t>(sizeof(T)));
      // An element further: for operands of one element that is beside the other, and no overlap.
      if (other.bytes > static_cast<int64_t>(sizeof(T)) && now(concat(name, " begins in ", other.name)))
        data = begin + sizeof(T);
    }
    view.data = reinterpret_cast<T*>(static_cast<Byte*>(data));
    return view;
  }

  Memory& memory_;
  int way_ = -1;
  std::vector<Operand> known_;  // those of the good call
  std::vector<Operand> operands_;
  int count_ = 0;
  std::string spoilt_;
  Must must_ = Must::succeed;
};

}  // namespace rondo::test
