// The shared memory of a block.
#include <simt/shared.h>
#include <simt/translated.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../base/sanitizers.h"
#include "block.h"

namespace simt {
namespace {

constexpr size_t kMostStaticBytes = size_t{48} << 10;

// The room for the variables of all kernels of the program. They are constructed before main(), or when a
// library is loaded.
size_t room_for_variables = 0;

size_t rounded_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

namespace detail {

SharedVariable::SharedVariable(size_t size, size_t alignment_of_it)
    : bytes(size), alignment(alignment_of_it) {
  room_for_variables += rounded_up(bytes, kSharedGap) + kSharedGap + (alignment > kSharedGap ? alignment : 0);
}

void* shared_variable(const SharedVariable& variable) {
  return running_block("a __shared__ variable").shared_variable(variable);
}

void not_a_kernel() {
  std::fprintf(stderr, "simt: a function that is not a __global__ function was called with <<<...>>>\n");
  std::abort();
}

}  // namespace detail

SharedMemory::SharedMemory(size_t dynamic_bytes)
    : dynamic_bytes_(dynamic_bytes),
      bytes_(room_for_variables == 0 ? dynamic_bytes
                                     : rounded_up(dynamic_bytes, detail::kSharedGap) + room_for_variables) {
  TsanIgnore ignore;
  memory_ = ::operator new(bytes_, kAlignment);
  std::memset(memory_, 0xFF, dynamic_bytes);
  select();
}

SharedMemory::~SharedMemory() {
  TsanIgnore ignore;
  ::operator delete(memory_, kAlignment);
  detail::shared_begin = nullptr;
  detail::shared_bytes = detail::dynamic_bytes = 0;
}

void SharedMemory::select() const {
  detail::shared_begin = memory_;
  detail::shared_bytes = bytes_;
  detail::dynamic_bytes = dynamic_bytes_;
}

void* SharedMemory::variable(const detail::SharedVariable& variable) {
  for (const Placed& placed : variables_)
    if (placed.variable == &variable) return data() + placed.offset;
  static_bytes_ = rounded_up(static_bytes_, variable.alignment) + variable.bytes;
  if (static_bytes_ > kMostStaticBytes) return nullptr;
  size_t offset = rounded_up(dynamic_bytes_, detail::kSharedGap);
  if (!variables_.empty())
    offset = rounded_up(variables_.back().offset + variables_.back().variable->bytes, detail::kSharedGap);
  offset = rounded_up(offset + detail::kSharedGap, std::max(variable.alignment, detail::kSharedGap));
  if (variables_.empty() && dynamic_bytes_ == 0 && variable.alignment <= detail::kSharedGap) offset = 0;
  TsanIgnore ignore;
  variables_.push_back({&variable, offset});
  std::memset(data() + offset, 0xFF, variable.bytes);
  return data() + offset;
}

bool SharedMemory::has(size_t offset, size_t bytes) const {
  if (offset + bytes <= dynamic_bytes_) return true;
  for (const Placed& placed : variables_)
    if (offset >= placed.offset && offset + bytes <= placed.offset + placed.variable->bytes) return true;
  return false;
}

std::string SharedMemory::describe(size_t offset) const {
  // Variables lie in ascending order behind the dynamic part.
  size_t begin = 0, bytes = dynamic_bytes_;
  for (const Placed& placed : variables_)
    if (placed.offset <= offset) begin = placed.offset, bytes = placed.variable->bytes;
  const std::string what =
      begin == 0 && dynamic_bytes_ != 0 ? "dynamic shared memory" : "a __shared__ variable";
  return "byte " + std::to_string(offset - begin) + " of " + std::to_string(bytes) + " bytes of " + what;
}

void* Block::shared_variable(const detail::SharedVariable& variable) {
  void* const storage = shared_->variable(variable);
  if (!storage)
    fail(cudaErrorInvalidValue, [&] {
      return "the __shared__ variables of the block have more than " + std::to_string(kMostStaticBytes) +
             " bytes; CUDA has dynamic shared memory for more";
    });
  return storage;
}

}  // namespace simt
