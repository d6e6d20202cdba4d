// Leaving one stack for another.
//
// Boost.Context does this everywhere. On x86-64 a few instructions of our own, inlined where they are used,
// take a third of its time: Boost's is a function that is entered by a call and left by a jump, after which
// the processor predicts every return wrongly; and the floating-point modes, which it saves, never differ
// here.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef __x86_64__
#include <boost/context/detail/fcontext.hpp>
#endif

namespace simt {

// A stack that is not running: the address of what was saved at its top.
using Context = void*;

// Makes a context that calls `entry` on the stack that ends at `top`. `entry` never returns.
inline Context make_context(char* top, size_t bytes, void (*entry)());

// Saves the running stack in `from` and goes on in `to`. Returns when somebody switches back.
inline void switch_context(Context& from, Context to);

#ifdef __x86_64__

inline Context make_context(char* top, size_t, void (*entry)()) {
  // Popped first: where to go on. Then the stack is as after a call: its top is 8 bytes past a multiple
  // of 16.
  auto* words = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15}) - 2;
  words[1] = nullptr;
  words[0] = reinterpret_cast<void*>(entry);
  return words;
}

__attribute__((always_inline)) inline void switch_context(Context& from, Context to) {
  Context* save = &from;  // no register is what it was when another stack has come back to this one
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // step over the red zone
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%%rdi)\n\t"
      "movq %%rsi, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n\t"
      "1:\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+S"(to), "+D"(save)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc",
        "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15"
#ifdef __AVX512F__
        ,
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
        "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#endif
  );
}

#else

inline Context make_context(char* top, size_t bytes, void (*entry)()) {
  namespace context = boost::context::detail;
  const Context made = context::make_fcontext(top, bytes, [](context::transfer_t transfer) {
    // The first jump into a new context only hands over what to call.
    const auto entry = reinterpret_cast<void (*)()>(transfer.data);
    const context::transfer_t again = context::jump_fcontext(transfer.fctx, nullptr);
    *static_cast<Context*>(again.data) = again.fctx;
    entry();
  });
  return context::jump_fcontext(made, reinterpret_cast<void*>(entry)).fctx;
}

inline void switch_context(Context& from, Context to) {
  const boost::context::detail::transfer_t transfer = boost::context::detail::jump_fcontext(to, &from);
  *static_cast<Context*>(transfer.data) = transfer.fctx;
}

#endif

}  // namespace simt
