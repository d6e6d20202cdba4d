// Clocks of device code.
//
// clock() of device code has the name of a function of the C library. Code that is translated calls
// simt::clock(), which is that of the host outside of kernels.
#pragma once

#include <ctime>

namespace simt {
bool in_block();  // whether this OS thread runs a kernel
}

// Clock ticks at the rate of cudaDevAttrClockRate, 2 GHz.
long long clock64();
namespace simt {
inline clock_t clock() { return in_block() ? static_cast<clock_t>(clock64()) : ::clock(); }
}  // namespace simt

// CUDA allows any time from 0 on. Threads that wait for another one of their block have to use a barrier.
inline void __nanosleep(unsigned) {}
