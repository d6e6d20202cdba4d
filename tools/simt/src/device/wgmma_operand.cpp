// Operands of wgmma in shared memory. Source: PTX ISA, "Shared Memory Matrix Layout", "Strides", "Matrix
// Descriptor Format" of wgmma.
#include <simt/observe_async.h>
#include <simt/shared.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "block.h"
#include "tensor_map.h"
#include "tensor_products.h"
#include "warpgroup.h"

namespace simt {
namespace {

// The fields of a descriptor, in bytes.
struct Descriptor {
  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3FFF) << 4),
        leading((bits >> 16 & 0x3FFF) << 4),
        stride((bits >> 32 & 0x3FFF) << 4),
        base(bits >> 49 & 7),
        span(bits >> 62 == 0 ? 0 : 256u >> (bits >> 62)) {}  // 1: 128, 2: 64, 3: 32
  size_t start, leading, stride;
  unsigned base, span;
};

// Where element (i, k) begins, of `bytes` bytes. i counts the rows of a or the columns of b.
size_t offset_of(const Descriptor& m, bool transposed, int i, int k, int bytes) {
  const int line = 16 / bytes;  // elements
  const auto size = [](int value) { return static_cast<size_t>(value); };
  if (!transposed) {  // contiguous along k
    const size_t eights = size(i / 8) * m.stride;
    if (m.span == 0) return eights + size(i % 8) * 16 + size(k / line) * m.leading + size(k % line * bytes);
    return eights + size(i % 8) * m.span + size(k * bytes);
  }
  if (m.span == 0)
    return size(i / line) * m.stride + size(i % line * bytes) + size(k % 8) * 16 + size(k / 8) * m.leading;
  const int row = static_cast<int>(m.span) / bytes;
  return size(i / row) * m.leading + size(i % row * bytes) + size(k % 8) * m.span + size(k / 8) * m.stride;
}

// Calls visit(i, k, byte of shared memory) for the first element of each line of 16 bytes, which stays
// together in every layout.
template <class Visit>
void for_each_line(const Descriptor& from, const OperandShape& shape, int bytes, Visit visit) {
  const int steps = 32 / bytes, line = 16 / bytes;
  const int i_step = shape.transposed ? line : 1, k_step = shape.transposed ? 1 : line;
  for (int i = 0; i < shape.count; i += i_step)
    for (int k = 0; k < steps; k += k_step)
      visit(i, k, swizzled(from.start + offset_of(from, shape.transposed, i, k, bytes), from.span));
}

template <TensorFormat format>
void load(float* to, const unsigned char* lines, const Descriptor& from, const OperandShape& shape) {
  constexpr int kBytes = format == TensorFormat::tf32 ? 4 : 2, kLine = 16 / kBytes;
  const int next = shape.transposed ? shape.i_step : shape.k_step;
  for_each_line(from, shape, kBytes, [&](int i, int k, size_t) {
    float* const first = to + i * shape.i_step + k * shape.k_step;
    for (int e = 0; e < kLine; ++e) {
      uint32_t bits = 0;
      std::memcpy(&bits, lines + e * kBytes, kBytes);
      const float value = tensor_element<format>(bits, 0);
      first[e * next] = shape.negated ? -value : value;
    }
    lines += 16;
  });
}

const unsigned char* operand_at(size_t offset) {
  return static_cast<const unsigned char*>(detail::shared_begin) + offset;
}

int element_bytes(const OperandShape& shape) { return shape.format == TensorFormat::tf32 ? 4 : 2; }

template <class What>
[[noreturn]] void fail(cudaError_t error, const Place& place, const What& what) {
  running_block("wgmma").fail(error, [&] { return "wgmma.mma_async at " + text(place) + what(); });
}

std::string swizzle_text(unsigned span) {
  return span == 0 ? "no swizzle" : "a swizzle of " + std::to_string(span) + " bytes";
}

// The box of a tensor copy that all of the operand comes from, with another swizzle than that of the
// descriptor; null: none. Zeros say nothing: threads may have written them since.
const BoxLayout* other_layout(const AsyncState& state, const Descriptor& from, const OperandShape& shape) {
  const BoxLayout* other = nullptr;
  bool suspect = true, all_zeros = true;
  for_each_line(from, shape, element_bytes(shape), [&](int, int, size_t at) {
    if (!suspect) return;
    const BoxLayout* const box = state.box_at(operand_at(at));
    suspect = box && box->span != from.span;
    if (suspect) other = box;
    for (size_t i = 0; i < 16; ++i) all_zeros = all_zeros && operand_at(at)[i] == 0;
  });
  return suspect && !all_zeros ? other : nullptr;
}

}  // namespace

std::vector<unsigned char> read_operand(AsyncState& state, uint64_t descriptor, const OperandShape& shape,
                                        const Place& place) {
  const Descriptor from(descriptor);
  if (from.base != 0)
    fail(cudaErrorLaunchFailure, place, [&] {
      return std::string(": the executor has no base offset, and the descriptor of ") + shape.name + " has " +
             std::to_string(from.base) + "; align the matrix to 1024 bytes";
    });
  for_each_line(from, shape, element_bytes(shape), [&](int i, int k, size_t at) {
    if (at + 16 > detail::shared_bytes)
      fail(cudaErrorIllegalAddress, place, [&] {
        return ": element (" + std::to_string(i) + ", k " + std::to_string(k) + ") of " + shape.name +
               " is at byte " + std::to_string(at) + " of shared memory, which has " +
               std::to_string(detail::shared_bytes);
      });
    if (const void* const byte = state.unfenced(operand_at(at), 16))
      fail(cudaErrorLaunchFailure, place, [&] {
        return std::string(" reads ") + shape.name + " from " + shared_text(byte) +
               ", which a thread wrote, and no fence.proxy.async followed";
      });
  });
  if (const BoxLayout* const box = other_layout(state, from, shape))
    fail(cudaErrorLaunchFailure, place, [&] {
      return std::string(" reads ") + shape.name + " with " + swizzle_text(from.span) +
             ", and the tensor copy at " + text(box->place) + " wrote it with " + swizzle_text(box->span);
    });
  std::vector<unsigned char> lines;
  lines.reserve(static_cast<size_t>(shape.count) * 32);
  for_each_line(from, shape, element_bytes(shape),
                [&](int, int, size_t at) { lines.insert(lines.end(), operand_at(at), operand_at(at) + 16); });
  return lines;
}

void load_operand(float* to, const std::vector<unsigned char>& lines, uint64_t descriptor,
                  const OperandShape& shape) {
  const Descriptor from(descriptor);
  switch (shape.format) {
    case TensorFormat::tf32:
      return load<TensorFormat::tf32>(to, lines.data(), from, shape);
    case TensorFormat::bfloat16:
      return load<TensorFormat::bfloat16>(to, lines.data(), from, shape);
    case TensorFormat::float16:
      return load<TensorFormat::float16>(to, lines.data(), from, shape);
  }
}

void check_operand(const std::vector<unsigned char>& lines, uint64_t descriptor, const OperandShape& shape,
                   const Place& place) {
  if (detail::order_is_checked()) return;
  const unsigned char* old = lines.data();
  for_each_line(Descriptor(descriptor), shape, element_bytes(shape), [&](int, int, size_t at) {
    const unsigned char* const now = operand_at(at);
    if (std::memcmp(now, old, 16) != 0)
      fail(cudaErrorLaunchFailure, place, [&] {
        return std::string(" reads ") + shape.name + " from " +
               shared_text(std::mismatch(now, now + 16, old).first) +
               ", which was written before the waits of all four warps";
      });
    old += 16;
  });
}

bool operand_meets(uint64_t descriptor, const OperandShape& shape, size_t begin, size_t end) {
  bool meets = false;
  for_each_line(Descriptor(descriptor), shape, element_bytes(shape),
                [&](int, int, size_t at) { meets = meets || (at < end && begin < at + 16); });
  return meets;
}

#ifdef SIMT_OBSERVE
void observe_operand(uint64_t descriptor, const OperandShape& shape, unsigned warpgroup,
                     const void* instruction) {
  const Descriptor from(descriptor);
  for_each_line(from, shape, element_bytes(shape), [&](int, int, size_t at) {
    if (at + 16 <= detail::shared_bytes)
      detail::observe_operand_read(instruction, warpgroup,
                                   static_cast<const char*>(detail::shared_begin) + at);
  });
}
#endif

unsigned shared_address(const void* address) {
  running_block("shared_address");
  return static_cast<unsigned>(shared_offset(address));
}

}  // namespace simt
