// mbarrier: a barrier in shared memory, 8 bytes, that counts arrivals of threads and bytes of asynchronous
// copies.
//
// A barrier goes through phases, of parity 0, 1, 0, ... Its current phase completes when no arrivals are
// pending and its tx-count is 0: the bytes that were announced (expect_tx) have been copied (complete_tx).
// The next phase then begins with the arrivals that the barrier was initialized with. Source: PTX ISA,
// "mbarrier".
//
// The state is in the 8 bytes themselves. Memory that is not an initialized barrier is a fault, and so is a
// count that leaves its range.
#pragma once

#include <simt/barrier.h>

#include <cstdint>

namespace simt {

// A barrier whose phases complete after `count` arrivals, 1 to 2^20 - 1.
void mbarrier_init(void* barrier, unsigned count, Place place = Place::current());
// Ends its use between two phases. Only then may its memory be initialized again.
void mbarrier_invalidate(void* barrier, Place place = Place::current());

// Decrements the pending arrivals of the current phase by one. The second function first increments its
// tx-count by `bytes`.
void mbarrier_arrive(void* barrier, Place place = Place::current());
void mbarrier_arrive_expect_tx(void* barrier, unsigned bytes, Place place = Place::current());

// Waits until the phase of parity `parity` has completed: while the current phase has this parity. This is
// the loop around mbarrier.try_wait.parity. The other threads of the block run meanwhile. If none of them can
// go on, the kernel ends with a fault that describes the barriers that are waited for.
void mbarrier_wait(void* barrier, unsigned parity, Place place = Place::current());

// The parity of the current phase, which the next arrival belongs to.
unsigned mbarrier_parity(void* barrier, Place place = Place::current());

// fence.mbarrier_init: makes mbarrier_init() visible to asynchronous copies.
void mbarrier_init_fence();

// fence.proxy.async: makes what the thread wrote to shared memory visible to asynchronous operations, which
// are bulk copies and the products of a warpgroup. In late mode (settings.h) it is a fault if they read a
// byte that has changed since the last fence of any thread.
void async_proxy_fence();

}  // namespace simt
