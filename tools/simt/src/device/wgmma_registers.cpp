// Registers of a of wgmma, which are variables of each thread. They must not change from a product to the
// wait for it, nor from the thread's last wgmma.fence to a product.
#include <string>

#include "block.h"
#include "warpgroup.h"

namespace simt {
namespace {

// The variables may be out of scope: the address sanitizer must not look.
[[gnu::no_sanitize("address")]] void read(uint32_t* to, const uint32_t* from) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<const volatile uint32_t*>(from)[i];
}

// The first of four values that differs; 4: none.
int first_difference(const uint32_t* a, const uint32_t* b) {
  int i = 0;
  while (i < 4 && a[i] == b[i]) ++i;
  return i;
}

template <class What>
[[noreturn]] void fail(const Place& place, const What& what) {
  running_block("wgmma").fail(cudaErrorLaunchFailure,
                              [&] { return "wgmma.mma_async at " + text(place) + what(); });
}

}  // namespace

// Registers that an earlier product of the thread read must have the values of its last fence. Of others it
// is not known when they were written.
void read_registers(PendingProduct& pending, unsigned thread, Fiber& fiber, const uint32_t* registers) {
  pending.a_registers.resize(kWarpgroup);
  pending.a.resize(4 * kWarpgroup);
  pending.a_registers[thread] = registers;
  uint32_t* const values = &pending.a[4 * thread];
  read(values, registers);
  for (const FencedRegisters& known : fiber.wgmma_a) {
    if (known.registers != registers) continue;
    if (const int i = first_difference(values, known.values); i < 4)
      fail(pending.place, [&] {
        return " needs a wgmma.fence first: thread " + std::to_string(thread) +
               " of the warpgroup changed register " + std::to_string(i) + " of a after its last one";
      });
    return;
  }
  fiber.wgmma_a.push_back({registers, {values[0], values[1], values[2], values[3]}});
}

void fence_registers(Fiber& fiber) {
  for (FencedRegisters& known : fiber.wgmma_a) read(known.values, known.registers);
}

void check_registers(const PendingProduct& pending) {
  for (unsigned thread = 0; thread < pending.a_registers.size(); ++thread) {
    uint32_t now[4];
    read(now, pending.a_registers[thread]);
    if (const int i = first_difference(now, &pending.a[4 * thread]); i < 4)
      fail(pending.place, [&] {
        return " reads register " + std::to_string(i) + " of a, which thread " + std::to_string(thread) +
               " of the warpgroup changed before the wait, or which is out of scope";
      });
  }
}

}  // namespace simt
