// ArgumentCheck: the argument checks that every public operation makes before it starts any work.
//
//   ArgumentCheck check("add");
//   check.output("y", y, {"a", "b"});  // y may be a or b
//   check.input("a", a);
//   check.input("b", b);
//   check.same_size("a", a, "y", y);
//   check.same_size("b", b, "y", y);
//   RONDO_RETURN_IF_ERROR(check.status());
//
// The rules are the same for all operations:
//   - No size is negative, and no operand spans more than kMaxBytes.
//   - A pointer to elements is not null, is aligned, and on the CPU executor its elements are memory of CUDA.
//   - The matrices of a batch that is written lie apart, as blocks or as column ranges of one matrix.
//   - Pointers in device memory are not read. Of matrices behind them the array of pointers is an operand.
//   - An optional operand is omitted by passing an empty view: a null pointer and no elements.
//   - An output shares no memory with another operand or with the workspace. If the operation allows an
//     output to be an input (in place), both must have the same pointer and the same strides.
//   - A workspace has at least the bytes that the operation's size function returns, and is aligned to
//     kWorkspaceAlignment.
//
// The first violation is kept. Its message contains the operation, the argument, its value and the valid
// values.
#pragma once

#include <rondo/kernels/core/overlap.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace rondo {

// The shape of any kind of view.
struct OperandShape {
  const void* data = nullptr;
  int64_t element_bytes = 0;
  int64_t alignment = 0;
  int dimensions = 0;
  std::array<int64_t, 4> sides = {};
  int64_t stride = 0;        // row stride of a matrix, in elements; otherwise 0
  int64_t batch_stride = 0;  // of matrices, in elements; otherwise 0
};
template <class T>
OperandShape shape_of(const VectorView<T>& view) {
  return {view.data, sizeof(T), alignof(T), 1, {view.size}};
}
template <class T>
OperandShape shape_of(const MatrixView<T>& view) {
  return {view.data, sizeof(T), alignof(T), 2, {view.rows, view.cols}, view.stride};
}
template <class T>
OperandShape shape_of(const MatrixBatchView<T>& view) {
  return {view.data,   sizeof(T),        alignof(T), 3, {view.batches, view.rows, view.cols},
          view.stride, view.batch_stride};
}
// Of the array of pointers.
template <class T>
OperandShape shape_of(const MatrixPointersView<T>& view) {
  return {view.data, sizeof(T*), alignof(T*), 1, {view.batches}};
}
template <class T>
OperandShape shape_of(const ImageView<T>& view) {
  return {view.data, sizeof(T), alignof(T), 4, {view.images, view.height, view.width, view.channels}};
}
template <class T>
OperandShape shape_of(const FilterView<T>& view) {
  return {
      view.data, sizeof(T), alignof(T), 4, {view.out_channels, view.height, view.width, view.in_channels}};
}

class ArgumentCheck {
 public:
  using Names = std::initializer_list<const char*>;

  explicit ArgumentCheck(const char* operation) : operation_(operation) {}

  // `may_be`: the operands that the output may alias (in place).
  template <class View>
  void input(const char* name, const View& view) {
    add(name, shape_of(view), false, {});
  }
  // Matrices behind pointers in device memory, which the host cannot read: checks the shape of the matrices
  // and the array of pointers.
  template <class T>
  void input(const char* name, const MatrixPointersView<T>& view) {
    add_pointers(name, shape_of(MatrixView<T>{nullptr, view.rows, view.cols, view.stride}), shape_of(view));
  }
  // The same: the array itself is not written.
  template <class T>
  void output(const char* name, const MatrixPointersView<T>& view, Names = {}) {
    input(name, view);
  }
  template <class View>
  void output(const char* name, const View& view, Names may_be = {}) {
    add(name, shape_of(view), true, {may_be.begin(), may_be.size()});
  }
  template <class View>
  void output(const char* name, const View& view, std::span<const char* const> may_be) {
    add(name, shape_of(view), true, may_be);
  }
  template <class View>
  void optional_input(const char* name, const View& view) {
    if (!left_out(shape_of(view))) input(name, view);
  }
  template <class View>
  void optional_output(const char* name, const View& view, Names may_be = {}) {
    if (!left_out(shape_of(view))) output(name, view, may_be);
  }
  // A single value in device memory.
  template <class T>
  void input_value(const char* name, const T* value) {
    input(name, VectorView<const T>{value, 1});
  }
  template <class T>
  void optional_input_value(const char* name, const T* value) {
    if (value != nullptr) input_value(name, value);
  }
  template <class T>
  void output_value(const char* name, T* value) {
    output(name, VectorView<T>{value, 1});
  }
  // `bytes`: the result of the operation's size function for this call.
  void workspace(const Workspace& workspace, int64_t bytes);

  // If `condition` is false, fails with a message of the operation's name followed by `parts`.
  template <class... Parts>
  void require(bool condition, const Parts&... parts) {
    if (!condition) fail(parts...);
  }
  template <class... Parts>
  void fail(const Parts&... parts) {
    if (ok()) keep(bad_argument(operation_, ": ", parts...));
  }
  // `value` must be one of the enumerators 0 ... last.
  template <class Enum>
  void enumerator(const char* name, Enum value, Enum last) {
    const auto number = static_cast<int64_t>(value), most = static_cast<int64_t>(last);
    require(number >= 0 && number <= most, name, " is the enumerator ", number, ", must be from 0 to ", most);
  }
  template <class T, class U>
  void same_size(const char* name, const VectorView<T>& view, const char* other_name,
                 const VectorView<U>& other) {
    require(view.size == other.size, name, ".size is ", view.size, ", must be ", other_name,
            ".size = ", other.size);
  }
  template <class View, class Other>
  void same_shape(const char* name, const View& view, const char* other_name, const Other& other) {
    same_shape(name, shape_of(view), other_name, shape_of(other));
  }
  // The rows of the matrix must be contiguous, with no gap between them.
  void packed(const char* name, const MatrixView<const float>& view);

  bool ok() const { return status_.ok(); }
  // Returns the first violation. Must be the last call, because it checks the operands for overlap.
  Status status();

 private:
  struct Operand {
    const char* name;
    MemoryExtent memory;
    bool written;
    std::array<const char*, 8> may_be;
    int64_t element_bytes = 1;
  };
  static constexpr int kMostOperands = 16;

  void keep(Status violation);
  static bool left_out(const OperandShape& shape);
  bool has_valid_sides(const char* name, const OperandShape& shape);
  void check_batch(const char* name, const OperandShape& shape);
  void add_pointers(const char* name, const OperandShape& of_matrix, const OperandShape& of_pointers);
  void add(const char* name, const OperandShape& shape, bool written, std::span<const char* const> may_be);
  void add(const Operand& operand);
  void same_shape(const char* name, const OperandShape& shape, const char* other_name,
                  const OperandShape& other);
  void check_overlap(const Operand& first, const Operand& second);

  const char* operation_;
  Status status_;
  int count_ = 0;
  std::array<Operand, kMostOperands> operands_;
};

}  // namespace rondo
