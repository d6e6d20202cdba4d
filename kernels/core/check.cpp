#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/counted.h>

#include <rondo/kernels/core/text.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <span>

#ifdef __SIMT__
#include <simt/kernel_memory.h>
#endif

namespace rondo {
namespace {

// "2 x 3 x 4"
std::string text_of(const OperandShape& shape) {
  std::string text;
  for (int i = 0; i < shape.dimensions; ++i)
    text += (i > 0 ? " x " : "") + exact_text(shape.sides[static_cast<size_t>(i)]);
  return text;
}

// The product of the sides, none of which may be negative.
int64_t elements_of(const OperandShape& shape) {
  return saturating_product(std::span(shape.sides).first(static_cast<size_t>(shape.dimensions)));
}

// Whether the operand is a matrix or a batch of matrices, whose rows have a stride.
bool has_rows(const OperandShape& shape) { return shape.dimensions == 2 || shape.dimensions == 3; }

// The bytes that the operand spans, with a side of zero counted as one. This way no product of a subset of
// the sides overflows either.
int64_t span_of(OperandShape shape) {
  for (int64_t& side : shape.sides) side = std::max<int64_t>(side, 1);
  if (has_rows(shape)) {
    int64_t& cols = shape.sides[static_cast<size_t>(shape.dimensions - 1)];
    cols = std::max(cols, shape.stride);
  }
  // No more than the matrices one after the other and the gaps.
  const int64_t gaps = saturating_product({shape.sides[0], shape.batch_stride, shape.element_bytes});
  const int64_t bytes = saturating_product({elements_of(shape), shape.element_bytes});
  return bytes > INT64_MAX - gaps ? INT64_MAX : bytes + gaps;
}

// Whether the matrices of a batch are column ranges of one matrix.
bool are_columns(const OperandShape& shape) {
  return (shape.sides[0] - 1) * shape.batch_stride + shape.sides[2] <= shape.stride;
}

// The memory of a batch that has elements. Exact for column ranges and for matrices that are row ranges of
// one matrix; otherwise gaps count as used.
MemoryExtent extent_of_batch(const OperandShape& shape) {
  const auto [batches, rows, cols, none] = shape.sides;
  const int64_t bytes = shape.element_bytes, distance = (batches - 1) * shape.batch_stride;
  if (are_columns(shape)) return {shape.data, rows, (distance + cols) * bytes, shape.stride * bytes};
  if (shape.batch_stride % shape.stride == 0)
    return {shape.data, distance / shape.stride + rows, cols * bytes, shape.stride * bytes};
  return MemoryExtent::packed(shape.data, (distance + (rows - 1) * shape.stride + cols) * bytes);
}

bool aligned(const void* data, int64_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(alignment) == 0;
}

// Why kernels may not access the memory; empty: they may. A GPU finds out itself; on the executor, a kernel
// would read host memory, and memory that was freed.
std::string refusal_of([[maybe_unused]] const MemoryExtent& memory) {
#ifdef __SIMT__
  return simt::refusal_of(memory.data, memory.end() - memory.begin());
#else
  return {};
#endif
}

}  // namespace

void ArgumentCheck::keep(Status violation) { status_ = std::move(violation); }

bool ArgumentCheck::left_out(const OperandShape& shape) {
  const auto* begin = shape.sides.data();
  return shape.data == nullptr && *std::min_element(begin, begin + shape.dimensions) == 0;
}

bool ArgumentCheck::has_valid_sides(const char* name, const OperandShape& shape) {
  const int64_t cols = shape.sides[static_cast<size_t>(std::max(1, shape.dimensions - 1))];
  if (std::any_of(shape.sides.begin(), shape.sides.end(), [](int64_t side) { return side < 0; }))
    shape.dimensions == 1 ? fail(name, ".size is ", shape.sides[0], ", must not be negative")
                          : fail(name, " is ", text_of(shape), ", no side may be negative");
  else if (has_rows(shape) && shape.stride < cols)
    fail(name, ".stride is ", shape.stride, ", must be at least cols = ", cols);
  else if (shape.batch_stride < 0)
    fail(name, ".batch_stride is ", shape.batch_stride, ", must not be negative");
  else if (span_of(shape) > kMaxBytes)
    fail(name, " is ", text_of(shape), " elements of ", counted(shape.element_bytes, "byte"),
         has_rows(shape) ? concat(" with a stride of ", shape.stride) : "",
         shape.dimensions == 3 ? concat(" and a batch_stride of ", shape.batch_stride) : "",
         ", must span at most 2^57 bytes");
  else
    return true;
  return false;
}

void ArgumentCheck::add(const char* name, const OperandShape& shape, bool written,
                        std::span<const char* const> may_be) {
  if (!has_valid_sides(name, shape)) return;
  const int64_t elements = elements_of(shape);
  if (elements == 0) return;
  if (shape.data == nullptr) return fail(name, " is null with ", counted(elements, "element"));
  if (!aligned(shape.data, shape.alignment))
    return fail(name, " is at ", shape.data, ", must be aligned to ", counted(shape.alignment, "byte"));
  Operand operand = {name,
                     MemoryExtent::packed(shape.data, elements * shape.element_bytes),
                     written,
                     {},
                     shape.element_bytes};
  if (shape.dimensions == 2 && shape.stride > shape.sides[1])
    operand.memory = {shape.data, shape.sides[0], shape.sides[1] * shape.element_bytes,
                      shape.stride * shape.element_bytes};
  if (shape.dimensions == 3) {
    operand.memory = extent_of_batch(shape);
    if (written) check_batch(name, shape);
  }
  if (may_be.size() > operand.may_be.size())
    return fail(name, " may be more than ", counted(may_be.size(), "operand"));
  std::copy(may_be.begin(), may_be.end(), operand.may_be.begin());
  add(operand);
}

void ArgumentCheck::add_pointers(const char* name, const OperandShape& of_matrix,
                                 const OperandShape& of_pointers) {
  require(of_pointers.sides[0] >= 0, name, ".batches is ", of_pointers.sides[0], ", must not be negative");
  if (!has_valid_sides(name, of_matrix)) return;
  if (elements_of(of_matrix) == 0)  // no pointer is read
    has_valid_sides(name, of_pointers);
  else
    add(name, of_pointers, false, {});
}

void ArgumentCheck::check_batch(const char* name, const OperandShape& shape) {
  const int64_t of_matrix = (shape.sides[1] - 1) * shape.stride + shape.sides[2];
  if (shape.sides[0] == 1 || shape.batch_stride >= of_matrix) return;
  require(shape.batch_stride >= shape.sides[2] && are_columns(shape), name, ".batch_stride is ",
          shape.batch_stride, ", must be at least ", of_matrix,
          ", the elements of a matrix with their gaps, or ", shape.sides[2], " or more where all ",
          shape.sides[0], " matrices fit side by side into the stride of ", shape.stride);
}

void ArgumentCheck::workspace(const Workspace& workspace, int64_t bytes) {
  if (workspace.bytes < 0 || workspace.bytes > kMaxBytes)
    return fail("workspace.bytes is ", workspace.bytes, ", must be from 0 to 2^57");
  if (workspace.bytes < bytes)
    return fail("the workspace has ", counted(workspace.bytes, "byte"), ", must have at least ", bytes);
  if (workspace.bytes == 0) return;
  if (workspace.data == nullptr) return fail("the workspace is null with ", counted(workspace.bytes, "byte"));
  if (!aligned(workspace.data, kWorkspaceAlignment))
    return fail("the workspace is at ", workspace.data, ", must be aligned to ", kWorkspaceAlignment,
                " bytes");
  add({"workspace", MemoryExtent::packed(workspace.data, workspace.bytes), true, {}});
}

void ArgumentCheck::add(const Operand& operand) {
  if (count_ == kMostOperands) return fail("more than ", kMostOperands, " operands");
  if (ok()) operands_[static_cast<size_t>(count_++)] = operand;
}

void ArgumentCheck::same_shape(const char* name, const OperandShape& shape, const char* other_name,
                               const OperandShape& other) {
  if (shape.sides != other.sides)
    fail(name, " is ", text_of(shape), ", must be ", text_of(other), " like ", other_name);
}

void ArgumentCheck::packed(const char* name, const MatrixView<const float>& view) {
  require(view.rows <= 1 || view.stride == view.cols, name, ".stride is ", view.stride,
          ", must be cols = ", view.cols);
}

void ArgumentCheck::check_overlap(const Operand& first, const Operand& second) {
  if (!overlap(first.memory, second.memory)) return;
  const auto allows = [](const Operand& a, const Operand& b) {
    return std::any_of(a.may_be.begin(), a.may_be.end(),
                       [&](const char* name) { return name && std::strcmp(name, b.name) == 0; });
  };
  const bool may = allows(first, second) || allows(second, first);
  const bool alike = first.element_bytes == second.element_bytes;
  if (may && alike && first.memory == second.memory) return;
  // The message starts with the operand that is written. If both are written, it starts with the later one.
  const bool swapped = second.written;
  fail((swapped ? second : first).name, " overlaps ", (swapped ? first : second).name,
       !may     ? ", must lie apart"
       : !alike ? ", must have elements of its size or lie apart"
                : ", must have the same pointer and strides or lie apart");
}

Status ArgumentCheck::status() {
  for (int j = 1; j < count_; ++j)
    for (int i = 0; i < j && ok(); ++i) {
      const Operand &first = operands_[static_cast<size_t>(i)], &second = operands_[static_cast<size_t>(j)];
      if (first.written || second.written) check_overlap(first, second);
    }
  for (int i = 0; i < count_ && ok(); ++i) {
    const auto& [name, memory, written, may_be, element_bytes] = operands_[static_cast<size_t>(i)];
    if (const std::string refusal = refusal_of(memory); !refusal.empty())
      fail(name, " is at ", memory.data, ", ", refusal);
  }
  return std::move(status_);
}

}  // namespace rondo
