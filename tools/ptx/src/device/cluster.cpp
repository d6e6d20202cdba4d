// Clusters: mapa, getctarank (PTX ISA 9.7.9.23, 9.7.9.24) and their barrier (9.7.13.4).
#include "cluster.h"

#include "block.h"
#include "fault.h"
#include "instruction_table.h"
#include "mbarrier.h"
#include "memory.h"

namespace ptx {
namespace {

// Operands: d, a, rank. A generic address keeps its window.
void mapa(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = value_of(warp, instruction.operands[1], lane);
    const uint64_t rank = value_of(warp, instruction.operands[2], lane);
    const size_t blocks = warp.block->cluster->blocks.size();
    if (rank >= blocks) fail(kLaunchFailure, "mapa to block ", rank, " of a cluster of ", blocks);
    set_value(warp, instruction.operands[0], lane,
              (address & ~(uint64_t{0xFF} << kRankShift)) | rank << kRankShift);
  });
}

void getctarank(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = value_of(warp, instruction.operands[1], lane);
    set_value(warp, instruction.operands[0], lane, static_cast<uint32_t>(address) >> kRankShift);
  });
}

void arrive_at_cluster(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // option: .relaxed
  if (!instruction.option) fence_mbarriers(warp, lanes, {.to_cluster = true, .to_copies = false});
  Cluster& cluster = *warp.block->cluster;
  for_lanes(lanes, [&](int lane) {
    if (warp.cluster_phase[lane] != kNotArrived)
      fail(kLaunchFailure, "barrier.cluster.arrive: lane ", lane, " arrives a second time without a wait");
    warp.cluster_phase[lane] = cluster.phase;
  });
  arrive_clock(warp, cluster.clock);
  cluster.arrived += static_cast<uint32_t>(std::popcount(lanes));
  end_cluster_phase_if_complete(cluster);
}

void wait_for_cluster(Warp& warp, const Instruction&, uint32_t lanes) {
  const Cluster& cluster = *warp.block->cluster;
  bool complete = true;
  for_lanes(lanes, [&](int lane) {
    if (warp.cluster_phase[lane] == kNotArrived)
      fail(kLaunchFailure, "barrier.cluster.wait: lane ", lane, " has not arrived");
    complete &= warp.cluster_phase[lane] != cluster.phase;
  });
  if (complete) {
    for_lanes(lanes, [&](int lane) { warp.cluster_phase[lane] = kNotArrived; });
    leave_clock(warp, cluster.clock_of_phase);
  } else {
    warp.yielded |= lanes;
  }
}

}  // namespace

void end_cluster_phase_if_complete(Cluster& cluster) {
  uint32_t live = 0;
  for (const auto& block : cluster.blocks) live += static_cast<uint32_t>(block->live_threads);
  if (cluster.arrived == 0 || cluster.arrived < live) return;
  cluster.arrived = 0;
  cluster.clock_of_phase = std::move(cluster.clock);
  cluster.clock.clear();
  ++cluster.phase;
}

bool decode_mapa(Decoder& decoder, Draft& draft) {
  draft.instruction.run = mapa;
  draft.add(decoder.destination(draft.arguments.at(0)));
  Operand source;
  Address variable;
  if (!decoder.find_register(draft.arguments.at(1), &source) &&
      decoder.find_variable(draft.arguments[1], &variable))
    return false;
  draft.add(decoder.source(draft.arguments[1], draft.type()));
  draft.add(decoder.source(draft.arguments.at(2), 4));
  return true;
}

bool decode_getctarank(Decoder& decoder, Draft& draft) {
  draft.instruction.run = getctarank;
  draft.add(decoder.destination(draft.arguments.at(0)));
  draft.add(decoder.source(draft.arguments.at(1), draft.type()));
  return true;
}

bool decode_cluster_barrier(Draft& draft) {
  Instruction& instruction = draft.instruction;
  instruction.aligned = draft.has("aligned");
  if (draft.parts[2] == "arrive") {
    instruction.run = arrive_at_cluster;
    instruction.option = draft.has("relaxed");
    if (instruction.aligned) instruction.flow = Flow::converge;
    return true;
  }
  instruction.run = wait_for_cluster;
  instruction.flow = Flow::wait;
  return draft.parts[2] == "wait";
}

}  // namespace ptx
