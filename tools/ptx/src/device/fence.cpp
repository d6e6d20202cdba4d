// fence, membar (PTX ISA 9.7.13.4). Memory is sequentially consistent here; a fence matters to workers that
// execute other clusters, and to the checks.
#include <atomic>

#include "block.h"
#include "instruction_table.h"
#include "mbarrier.h"

namespace ptx {
namespace {

// option: the fence makes mbarriers visible to the cluster; option2: and to bulk copies (.mbarrier_init).
void fence_memory(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  fence_clock(warp);
  if (instruction.option)
    fence_mbarriers(warp, lanes, {.to_cluster = true, .to_copies = instruction.option2});
}

// fence.proxy.async. option: it orders accesses to shared memory.
void fence_proxy(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  if (!instruction.option) return;
  for_lanes(lanes, [&](int lane) { warp.block->shadow.fence_proxy(thread_of(warp, lane)); });
  fence_mbarriers(warp, lanes, {.to_cluster = false, .to_copies = true});
}

}  // namespace

bool decode_fence(Decoder&, Draft& draft) {
  Instruction& instruction = draft.instruction;
  if (draft.has("proxy")) {
    instruction.run = fence_proxy;
    instruction.option = draft.has("async") && !draft.has("global");
    return true;
  }
  instruction.run = fence_memory;
  // membar.cta and fence.*.cta order accesses within the block only.
  instruction.option = !draft.has("cta");
  instruction.option2 = draft.has("mbarrier_init");
  return true;
}

}  // namespace ptx
