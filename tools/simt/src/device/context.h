// Switching between stacks.
//
// Uses Boost.Context, except on x86-64, where a few inlined instructions take a third of its time. Boost's
// function is entered by a call and left by a jump, after which the processor mispredicts every return; it
// also saves the floating-point modes, which never change here.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef __x86_64__
#include <boost/context/detail/fcontext.hpp>
#endif

namespace simt {

// A suspended stack: the address of the state saved at its top.
using Context = void*;

// Creates a context that calls `entry` on the stack that ends at `top`. `entry` must not return.
inline Context make_context(char* top, size_t bytes, void (*entry)());

// Saves the running stack in `from` and continues in `to`. Returns when another stack switches back.
inline void switch_context(Context& from, Context to);

#ifdef __x86_64__

inline Context make_context(char* top, size_t, void (*entry)()) {
  // The first pop gives the entry address. After it the stack is as after a call: its top is 8 bytes past a
  // multiple of 16.
  auto* words = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t{15}) - 2;
  words[1] = nullptr;
  words[0] = reinterpret_cast<void*>(entry);
  return words;
}

__attribute__((always_inline)) inline void switch_context(Context& from, Context to) {
  Context* save = &from;  // no register keeps its value across the switch
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // skip the red zone
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
    // The first jump into a new context only passes the function to call.
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
