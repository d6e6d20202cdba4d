// The shared memory of the running block: what the launch asked for, and the variables of translated sources.
#pragma once

#include <cstddef>

namespace simt {

namespace detail {
inline thread_local constinit void* shared_begin = nullptr;
inline thread_local constinit size_t shared_bytes = 0;   // all
inline thread_local constinit size_t dynamic_bytes = 0;  // at its begin: what the launch asked for
[[noreturn]] void shared_too_small(size_t wanted);

// A variable that CUDA C++ declares __shared__ with a size (simt/translated.h). Every block has room for all
// of the program, kSharedGap bytes apart.
inline constexpr size_t kSharedGap = 128;
struct SharedVariable {
  SharedVariable(size_t bytes, size_t alignment);
  size_t bytes, alignment;
};
void* shared_variable(const SharedVariable& variable);
template <class T, class Declaration, int Index>
inline const SharedVariable shared_variable_of(sizeof(T), alignof(Declaration));
}  // namespace detail

// Aligned to 1024 bytes, the period of the widest swizzle; every byte is 0xFF when the block starts. If the
// kernel needs more than its launch provides, the call raises a fault.
inline void* shared_memory(size_t wanted = 0) {
  if (wanted > detail::dynamic_bytes) [[unlikely]]
    detail::shared_too_small(wanted);
  return detail::shared_begin;
}

}  // namespace simt
