// bar, barrier (PTX ISA 9.7.13.1), bar.warp.sync (9.7.13.2), fences (9.7.13.4), and instructions without
// effect here.
#include "barrier.h"

#include "cluster.h"
#include "fault.h"
#include "instruction_table.h"

namespace ptx {
namespace {

enum Kind : uint8_t { sync, arrive_only, red };
enum Combination : uint8_t { popc, all, any };

void release_if_complete(Block& block, uint32_t number) {
  NamedBarrier& barrier = block.barriers[number];
  const uint32_t expected =
      barrier.expected != 0 ? barrier.expected : static_cast<uint32_t>(block.live_threads);
  if (barrier.arrived == 0 || barrier.arrived < expected) return;
  if (barrier.arrived > expected)
    fail(kLaunchFailure, "barrier ", number, ": ", barrier.arrived, " threads arrived, and ", expected,
         " were expected");
  const Clock clock = std::move(barrier.clock);
  const uint32_t results[] = {barrier.red_count, barrier.red_and, barrier.red_or};
  barrier = {};
  block.cluster->progress = true;
  for (Warp& warp : block.warps) {
    if (warp.waiting == 0 || warp.barrier != static_cast<int32_t>(number)) continue;
    for (const auto& [lanes, instruction] : warp.reductions) {
      const Operand to = instruction->operands[2];
      const uint32_t result = results[instruction->immediate];
      for_lanes(lanes, [&, of = &warp](int lane) { set_value(*of, to, lane, result); });
    }
    warp.reductions.clear();
    leave_clock(warp, clock);
    warp.waiting = 0;
    warp.barrier = -1;
  }
}

// bar.red: operands: barrier, count or absent, d, the predicate. option: negated; immediate: the combination.
void combine_votes(Warp& warp, const Instruction& instruction, uint32_t lanes, NamedBarrier& barrier) {
  const uint32_t votes = (predicate(warp, instruction, 3) ^ (instruction.option ? ~0u : 0)) & lanes;
  barrier.red_count += static_cast<uint32_t>(std::popcount(votes));
  if (votes != lanes) barrier.red_and = 0;
  if (votes != 0) barrier.red_or = 1;
  warp.reductions.push_back({lanes, &instruction});
}

void let_others_run(Warp& warp, const Instruction&, uint32_t lanes) { warp.yielded |= lanes; }
void nothing(Warp&, const Instruction&, uint32_t) {}

}  // namespace

void arrive_at_barrier(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  Block& block = *warp.block;
  const int first = std::countr_zero(lanes);
  const uint64_t number = value_of(warp, instruction.operands[0], first);
  if (number >= 16) fail(kLaunchFailure, "barrier ", number, " does not exist: there are 16");
  const Operand threads = instruction.operands[1];
  const uint32_t count = threads.present() ? static_cast<uint32_t>(value_of(warp, threads, first)) : 0;
  if (count % kWarpSize != 0)
    fail(kLaunchFailure, "barrier ", number, " for ", count, " threads, which is not a multiple of ",
         kWarpSize);
  NamedBarrier& barrier = block.barriers[number];
  if (barrier.arrived != 0 && barrier.expected != count)
    fail(kLaunchFailure, "barrier ", number, " for ", count, " threads, after threads arrived there for ",
         barrier.expected);
  barrier.expected = count;
  arrive_clock(warp, barrier.clock);
  // With a count, a warp arrives as a whole.
  barrier.arrived += count != 0 ? kWarpSize : static_cast<uint32_t>(std::popcount(lanes));
  if (instruction.variant == red) combine_votes(warp, instruction, lanes, barrier);
  if (instruction.variant != arrive_only) {
    warp.waiting |= lanes;
    warp.barrier = static_cast<int32_t>(number);
  }
  release_if_complete(block, static_cast<uint32_t>(number));
}

void release_barriers_after_exit(Block& block) {
  for (uint32_t number = 0; number < 16; ++number)
    if (block.barriers[number].expected == 0) release_if_complete(block, number);
}

bool decode_barrier(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const auto argument = [&](size_t n) { return draft.arguments.at(n); };
  if (draft.parts.size() > 1 && draft.parts[1] == "cluster") return decode_cluster_barrier(draft);
  if (draft.has("warp")) {
    instruction.run = nothing;
    converge_by_mask(decoder, draft, argument(0));
    return true;
  }
  instruction.flow = Flow::barrier;
  instruction.aligned = draft.parts[0] == "bar" || draft.has("aligned");
  instruction.variant = draft.has("arrive") ? arrive_only : draft.has("red") ? red : sync;
  if (instruction.variant == red) {  // d, a[, b], [!]c
    instruction.immediate = draft.has("popc") ? popc : draft.has("and") ? all : any;
    draft.add(decoder.source(argument(1), 4));
    if (draft.arguments.size() > 3) {
      draft.add(decoder.source(argument(2), 4));
    } else {
      draft.add_absent();
    }
    draft.add(decoder.destination(argument(0)));
    std::string_view vote = draft.arguments.back();
    instruction.option = vote.starts_with('!');
    if (instruction.option) vote.remove_prefix(1);
    draft.add(decoder.source(vote, 0));
    return true;
  }
  draft.add(draft.arguments.empty() ? decoder.constant(0, 4) : decoder.source(argument(0), 4));
  if (draft.arguments.size() > 1) {
    draft.add(decoder.source(argument(1), 4));
  } else {
    draft.add_absent();
  }
  return true;
}

bool decode_exit(Decoder&, Draft& draft) {
  draft.instruction.flow = Flow::exit;
  return true;
}

bool decode_trap(Decoder&, Draft& draft) {
  draft.instruction.flow = Flow::trap;
  return true;
}

bool decode_nanosleep(Decoder&, Draft& draft) {
  draft.instruction.run = let_others_run;
  draft.instruction.flow = Flow::sleep;
  return true;
}

bool decode_hint(Decoder&, Draft& draft) {
  // createpolicy has a result, which is only used as another hint.
  draft.instruction.run = nothing;
  return true;
}

bool decode_setmaxnreg(Decoder&, Draft& draft) {
  draft.instruction.run = nothing;
  converge_all(draft);
  return true;
}

}  // namespace ptx
