#include "system_calls.h"

#include <cstdio>
#include <cstdlib>

#include "block.h"
#include "fault.h"
#include "heap.h"
#include "memory.h"
#include "printf_format.h"

namespace ptx {
namespace {

// Arguments lie in local memory, at the offsets in `numbers`; the result at `immediate`, or nowhere if that
// is -1.
uint64_t argument(Warp& warp, const Instruction& instruction, int number, uint32_t bytes, int lane) {
  uint64_t value = 0;
  const uint64_t address = static_cast<uint64_t>(instruction.numbers[number]);
  std::memcpy(&value, lane_pointer(warp, Space::local, address, bytes, Access::read, lane), bytes);
  return value;
}

std::string text_at(Warp& warp, uint64_t address, int lane) {
  std::string text;
  for (;; ++address) {
    const char c = *lane_pointer(warp, Space::generic, address, 1, Access::read, lane);
    if (c == 0) return text;
    text += c;
  }
}

void print(Warp& warp, const std::string& text) {
  const Launch& launch = warp.block->launch->launch;
  if (launch.print) {
    launch.print(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
}

void call_vprintf(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    const std::string format = text_at(warp, argument(warp, instruction, 0, 8, lane), lane);
    uint64_t values = argument(warp, instruction, 1, 8, lane);
    int arguments = 0;
    const auto next = [&](uint32_t bytes) {
      values = (values + bytes - 1) / bytes * bytes;
      uint64_t value = 0;
      std::memcpy(&value, lane_pointer(warp, Space::generic, values, bytes, Access::read, lane), bytes);
      values += bytes;
      ++arguments;
      return value;
    };
    print(warp, format_text(format, next, [&](uint64_t address) { return text_at(warp, address, lane); }));
    if (instruction.immediate < 0) return;
    std::memcpy(lane_pointer(warp, Space::local, static_cast<uint64_t>(instruction.immediate), 4,
                             Access::write, lane),
                &arguments, 4);
  });
}

// __assertfail(message, file, line, function, character size)
void call_assertfail(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const int lane = std::countr_zero(lanes);
  const auto text = [&](int number) {
    return text_at(warp, argument(warp, instruction, number, 8, lane), lane);
  };
  fail(kAssertion, text(1), ":", argument(warp, instruction, 2, 4, lane), ": ", text(3), ": Assertion `",
       text(0), "` failed");
}

void call_malloc(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  Heap* const heap = warp.block->launch->launch.heap.get();
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = heap ? heap->allocate(argument(warp, instruction, 0, 8, lane)) : 0;
    if (instruction.immediate < 0) return;
    std::memcpy(lane_pointer(warp, Space::local, static_cast<uint64_t>(instruction.immediate), 8,
                             Access::write, lane),
                &address, 8);
  });
}

void call_free(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  Heap* const heap = warp.block->launch->launch.heap.get();
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = argument(warp, instruction, 0, 8, lane);
    if (address != 0 && !(heap && heap->release(address)))
      fail(kIllegalAddress, "free() of ", hex(address), ", which malloc() of a kernel has not returned, or ",
           "which is free already");
  });
  warp.allocation_end = 0;  // the latest allocation may be gone
}

}  // namespace

Handler system_call(std::string_view name) {
  if (name == "vprintf") return call_vprintf;
  if (name == "__assertfail") return call_assertfail;
  if (name == "malloc") return call_malloc;
  if (name == "free") return call_free;
  return nullptr;
}

}  // namespace ptx
