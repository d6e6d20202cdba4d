// Divergence: lanes of a warp at different instructions. Those with the least place run first, so that lanes
// meet again behind a branch. Instructions for several lanes park the early ones until the others come.
#include "execution.h"

#include <bit>
#include <limits>
#include <utility>

#include "async.h"
#include "barrier.h"
#include "cluster.h"
#include "fault.h"
#include "place.h"
#include "wgmma.h"

namespace ptx {
namespace {

constexpr int32_t kNowhere = std::numeric_limits<int32_t>::max();
// A slice ends after so many fruitless attempts, because what the warp waits for may be done by its other
// lanes or other warps.
constexpr int64_t kAttempts = 50;

void save_places(Warp& warp) {
  for (uint32_t m = warp.active; m != 0; m &= m - 1) warp.lane_pc[std::countr_zero(m)] = warp.pc;
}

// The lanes of `from` with the least place become active. False: `from` is empty.
bool choose_from(Warp& warp, uint32_t from) {
  if (from == 0) return false;
  int32_t least = kNowhere, next = kNowhere;
  uint32_t active = 0;
  for (uint32_t m = from; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    const int32_t place = warp.lane_pc[lane];
    if (place < least) {
      next = least;
      least = place;
      active = 1u << lane;
    } else if (place == least) {
      active |= 1u << lane;
    } else if (place < next) {
      next = place;
    }
  }
  warp.active = active;
  warp.pc = least;
  warp.merge_at = next;
  return true;
}

uint32_t parked_at(const Warp& warp, int32_t place) {
  uint32_t lanes = 0;
  for (uint32_t m = warp.parked; m != 0; m &= m - 1)
    if (warp.lane_pc[std::countr_zero(m)] == place) lanes |= m & -m;
  return lanes;
}

uint32_t guarded(const Warp& warp, const Instruction& instruction, uint32_t lanes) {
  if (instruction.guard < 0) return lanes;
  const uint32_t value = warp.predicate(instruction.guard);
  return lanes & (instruction.guard_negated ? ~value : value);
}

const uint32_t* masks_of(const Warp& warp, const Instruction& instruction) {
  return warp.values<uint32_t>({static_cast<int32_t>(instruction.immediate2), 4});
}

// The lanes with the mask of the first of them.
uint32_t with_first_mask(const uint32_t* masks, uint32_t lanes) {
  const uint32_t mask = masks[std::countr_zero(lanes)];
  uint32_t same = 0;
  for (uint32_t m = lanes; m != 0; m &= m - 1)
    if (masks[std::countr_zero(m)] == mask) same |= m & -m;
  return same;
}

// Of the lanes that are at an instruction which converges, those that need not wait for others. Lanes with
// different masks do not wait for each other.
uint32_t ready_lanes(const Warp& warp, const Instruction& instruction, uint32_t group) {
  if (instruction.aligned) return (warp.live & ~group) == 0 ? group : 0;
  const uint32_t executing = guarded(warp, instruction, group);
  const uint32_t* const masks = masks_of(warp, instruction);
  uint32_t ready = group & ~executing;
  for (uint32_t left = executing; left != 0;) {
    const uint32_t mask = masks[std::countr_zero(left)];
    const uint32_t same = (left & ~mask) == 0 ? left : with_first_mask(masks, left);
    if ((mask & warp.live & ~group) == 0) ready |= same;
    left &= ~same;
  }
  return ready;
}

// Lanes at an instruction that converges: false, they park until the others arrive.
bool converged(Warp& warp, const Instruction& instruction) {
  const uint32_t group = warp.active | parked_at(warp, warp.pc);
  const uint32_t ready = ready_lanes(warp, instruction, group);
  if (ready != group) save_places(warp);
  warp.parked = (warp.parked | group) & ~ready;
  if (ready == 0) return false;
  warp.active = ready;
  return true;
}

// Executes the instruction for the lanes of each mask.
void run_converged(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  while (lanes != 0) {
    uint32_t group = lanes;
    if (!instruction.aligned) {
      const uint32_t* const masks = masks_of(warp, instruction);
      const uint32_t mask = masks[std::countr_zero(lanes)];
      if (lanes & ~mask) group = with_first_mask(masks, lanes);
      if (group & ~mask)
        fail(kLaunchFailure, "lanes ", hex(group & ~mask), " execute an instruction for the lanes ",
             hex(mask), ", to which they do not belong");
    }
    instruction.run(warp, instruction, group);
    lanes &= ~group;
  }
}

// All lanes that are left are parked.
[[noreturn]] void fail_parked(Warp& warp, const Code& code) {
  std::string places;
  for (uint32_t left = warp.parked; left != 0;) {
    const int32_t place = warp.lane_pc[std::countr_zero(left)];
    const uint32_t group = parked_at(warp, place);
    left &= ~group;
    warp.at = &code.instructions[static_cast<size_t>(place)];
    warp.active = group;
    places += concat(places.empty() ? "" : "; ", "lanes ", hex(group), " at ",
                     describe_instruction(*warp.block->launch, warp.at));
  }
  fail(kLaunchFailure, "lanes of a warp wait for each other at different instructions: ", places);
}

// Chooses lanes to run. False: none can.
bool choose(Warp& warp, const Code& code) {
  if (choose_from(warp, warp.live & ~warp.parked & ~warp.waiting & ~warp.yielded)) return true;
  // Parked lanes for which others waited that have exited.
  for (uint32_t left = warp.parked; left != 0;) {
    const int32_t place = warp.lane_pc[std::countr_zero(left)];
    const uint32_t group = parked_at(warp, place);
    left &= ~group;
    const uint32_t ready = ready_lanes(warp, code.instructions[static_cast<size_t>(place)], group);
    if (ready == 0) continue;
    warp.parked &= ~ready;
    warp.active = ready;
    warp.pc = place;
    warp.merge_at = kNowhere;
    return true;
  }
  if (warp.parked != 0 && warp.waiting == 0 && warp.yielded == 0) {
    fail_parked(warp, code);
  }
  return false;
}

void check_whole(const Warp& warp, const Instruction& instruction, uint32_t lanes) {
  if (instruction.aligned && lanes != warp.active && lanes != 0)
    fail(kLaunchFailure, "an .aligned instruction is executed by lanes ", hex(lanes), " of ",
         hex(warp.active));
  if (instruction.whole && warp.live != warp.started && lanes != 0)
    fail(kLaunchFailure, "an instruction of a whole warp is executed after lanes ",
         hex(warp.started & ~warp.live), " of its warp have exited");
}

void exit_lanes(Warp& warp, uint32_t lanes) {
  if (!warp.async.unwaited.empty() && lanes != 0)
    fail(kLaunchFailure, "a warp exits without a wait for its wgmma");
  finish_copies(warp, lanes);
  finish_stores(warp, lanes);
  warp.live &= ~lanes;
  warp.block->live_threads -= std::popcount(lanes);
  release_barriers_after_exit(*warp.block);
  end_cluster_phase_if_complete(*warp.block->cluster);
}

// Active lanes that are in `lanes` go to `target`, the others to the next instruction.
void branch(Warp& warp, const Code& code, uint32_t lanes, int32_t target) {
  if (lanes == warp.active) {
    warp.pc = target;
  } else if (lanes == 0) {
    ++warp.pc;
  } else {
    for (uint32_t m = warp.active; m != 0; m &= m - 1) {
      const int lane = std::countr_zero(m);
      warp.lane_pc[lane] = lanes >> lane & 1 ? target : warp.pc + 1;
    }
    choose(warp, code);
  }
}

void branch_indexed(Warp& warp, const Code& code, const Instruction& instruction, uint32_t lanes) {
  const uint32_t* index = values<uint32_t>(warp, instruction, 0);
  for (uint32_t m = warp.active; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    if (!(lanes >> lane & 1)) {
      warp.lane_pc[lane] = warp.pc + 1;
      continue;
    }
    if (index[lane] >= static_cast<uint32_t>(instruction.target))
      fail(kLaunchFailure, "brx.idx with the index ", index[lane], " of ", instruction.target, " targets");
    warp.lane_pc[lane] = instruction.numbers[index[lane]];
  }
  choose(warp, code);
}

}  // namespace

Pause execute(Warp& warp, const Code& code, int64_t slice, int64_t* executed) {
  *executed = 0;
  if (warp.live == 0) return Pause::done;
  warp.yielded = 0;
  // Lanes that used up a slice run again after all others of the warp: they may wait for them.
  if (!(warp.tired != 0 && choose_from(warp, warp.live & ~warp.parked & ~warp.waiting & ~warp.tired))) {
    warp.tired = 0;
    if (!choose(warp, code)) return Pause::blocked;
  }
  const Instruction* const instructions = code.instructions.data();
  uint64_t* const counts = warp.block->launch->counts;
  const int64_t cost = slice / kAttempts;
  int64_t left = slice, costs = 0;
  for (;;) {
    const Instruction& instruction = instructions[warp.pc];
    warp.at = &instruction;
    if (counts) ++counts[warp.pc];
    uint32_t lanes = guarded(warp, instruction, warp.active);
    if (!warp.async.unwaited.empty() && lanes != 0) check_not_in_flight(warp, instruction);
    bool must_choose = false;  // no lanes are active any more
    switch (instruction.flow) {
      case Flow::next:
        ++warp.pc;
        if (lanes != 0) instruction.run(warp, instruction, lanes);
        break;
      case Flow::branch:
        branch(warp, code, lanes, instruction.target);
        break;
      case Flow::branch_indexed:
        branch_indexed(warp, code, instruction, lanes);
        break;
      case Flow::exit:
        for (uint32_t m = warp.active & ~lanes; m != 0; m &= m - 1)
          warp.lane_pc[std::countr_zero(m)] = warp.pc + 1;
        exit_lanes(warp, lanes);
        if (warp.live == 0) {
          *executed = slice - left - costs;
          return Pause::done;
        }
        must_choose = true;
        break;
      case Flow::attempt:
        ++warp.pc;
        warp.fruitless = false;
        if (lanes != 0) instruction.run(warp, instruction, lanes);
        if (!warp.fruitless) break;
        left -= cost;
        costs += cost;
        break;
      case Flow::converge:
        if (!converged(warp, instruction)) {
          must_choose = true;
          break;
        }
        lanes = guarded(warp, instruction, warp.active);
        check_whole(warp, instruction, lanes);
        ++warp.pc;
        run_converged(warp, instruction, lanes);
        break;
      case Flow::barrier:
        if (instruction.aligned) {
          if (!converged(warp, instruction)) {
            must_choose = true;
            break;
          }
          lanes = guarded(warp, instruction, warp.active);
          check_whole(warp, instruction, lanes);
        }
        ++warp.pc;
        if (lanes == 0) break;
        save_places(warp);
        arrive_at_barrier(warp, instruction, lanes);
        must_choose = true;
        break;
      case Flow::poll:
      case Flow::sleep: {
        ++warp.pc;
        const uint32_t before = warp.yielded;
        if (lanes != 0) instruction.run(warp, instruction, lanes);
        if (warp.yielded == before) break;
        save_places(warp);
        warp.yielded |= warp.active;
        must_choose = true;
        break;
      }
      case Flow::wait:
        if (lanes != 0) instruction.run(warp, instruction, lanes);
        if ((warp.yielded & lanes) == 0) {
          ++warp.pc;
          break;
        }
        save_places(warp);
        warp.yielded |= warp.active;
        must_choose = true;
        break;
      case Flow::trap:
        if (lanes == 0) {
          ++warp.pc;
          break;
        }
        if (instruction.option)
          fail(kNotSupported, code.problems[static_cast<size_t>(instruction.immediate)]);
        fail(kLaunchFailure, "trap");
    }
    if (must_choose) {
      if (!choose(warp, code)) {
        *executed = slice - left - costs;
        return warp.yielded != 0 ? Pause::polls : Pause::blocked;
      }
    } else if (warp.pc >= warp.merge_at) {
      save_places(warp);
      choose(warp, code);
    }
    if (--left <= 0) {
      save_places(warp);
      warp.tired |= warp.active;
      warp.active = 0;
      *executed = slice - left - costs;
      return Pause::slice;
    }
  }
}

}  // namespace ptx
