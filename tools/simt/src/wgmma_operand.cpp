// Operands of wgmma in shared memory. Source: PTX ISA, "Shared Memory Matrix Layout", "Strides", "Matrix
// Descriptor Format" of wgmma.
#include <simt/observe_async.h>
#include <simt/shared.h>

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

// Calls visit(i, k, byte of shared memory) for the first element of each line of 16 bytes, which stays together
// in every layout.
template <class Visit>
void for_each_line(const Descriptor& from, const OperandShape& shape, int bytes, Visit visit) {
  const int steps = 32 / bytes, line = 16 / bytes;
  const int i_step = shape.transposed ? line : 1, k_step = shape.transposed ? 1 : line;
  for (int i = 0; i < shape.count; i += i_step)
    for (int k = 0; k < steps; k += k_step)
      visit(i, k, swizzled(from.start + offset_of(from, shape.transposed, i, k, bytes), from.span));
}

template <TensorFormat format>
void load(AsyncState& state, float* to, const Descriptor& from, const OperandShape& shape,
          const Place& place) {
  constexpr int kBytes = format == TensorFormat::tf32 ? 4 : 2, kLine = 16 / kBytes;
  const int next = shape.transposed ? shape.i_step : shape.k_step;
  for_each_line(from, shape, kBytes, [&](int i, int k, size_t at) {
    if (at + 16 > detail::shared_bytes)
      running_block("wgmma").fail(cudaErrorIllegalAddress, [&] {
        return "wgmma.mma_async at " + text(place) + ": element (" + std::to_string(i) + ", k " +
               std::to_string(k) + ") of " + shape.name + " is at byte " + std::to_string(at) +
               " of shared memory, which has " + std::to_string(detail::shared_bytes);
      });
    unsigned char line[16];
    state.read(line, static_cast<const char*>(detail::shared_begin) + at, sizeof line);
    float* const first = to + i * shape.i_step + k * shape.k_step;
    for (int e = 0; e < kLine; ++e) {
      uint32_t bits = 0;
      std::memcpy(&bits, line + e * kBytes, kBytes);
      const float value = tensor_element<format>(bits, 0);
      first[e * next] = shape.negated ? -value : value;
    }
  });
}

}  // namespace

void load_operand(AsyncState& state, float* to, uint64_t descriptor, const OperandShape& shape,
                  const Place& place) {
  const Descriptor from(descriptor);
  if (from.base != 0)
    running_block("wgmma").fail(cudaErrorLaunchFailure, [&] {
      return "wgmma.mma_async at " + text(place) +
             ": the executor has no base offset, and the descriptor of " + shape.name + " has " +
             std::to_string(from.base) + "; align the matrix to 1024 bytes";
    });
  switch (shape.format) {
    case TensorFormat::tf32:
      return load<TensorFormat::tf32>(state, to, from, shape, place);
    case TensorFormat::bfloat16:
      return load<TensorFormat::bfloat16>(state, to, from, shape, place);
    case TensorFormat::float16:
      return load<TensorFormat::float16>(state, to, from, shape, place);
  }
}

#ifdef SIMT_OBSERVE
void observe_operand(uint64_t descriptor, const OperandShape& shape, unsigned warpgroup,
                     const void* instruction) {
  const Descriptor from(descriptor);
  for_each_line(from, shape, shape.format == TensorFormat::tf32 ? 4 : 2, [&](int, int, size_t at) {
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
