// PhaseTimer: the time of each phase of a step, measured with events between the phases.
//
// The events are captured in the step's graph, so every replay records them again at no cost for the host.
// read() returns the last replay.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <array>
#include <vector>

namespace rondo {

enum class Phase { load, forward, backward, reduce, update };
inline constexpr int kPhases = 5;
inline constexpr std::array<const char*, kPhases> kPhaseNames = {"load", "forward", "backward", "reduce",
                                                                 "update"};
constexpr const char* name_of(Phase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }

using PhaseSeconds = std::array<double, kPhases>;  // indexed by Phase

// Splits `seconds` in the proportions of one step's phases.
PhaseSeconds share_out(double seconds, PhaseSeconds step);

class PhaseTimer {
 public:
  // `stream`: a stream of `device`.
  PhaseTimer(int device, cudaStream_t stream);

  // end() marks the end of `phase`, which began at the previous mark.
  void begin() { record(0); }
  void end(Phase phase) { record(1 + static_cast<size_t>(phase)); }

  // The phases of the last completed step. The stream must be synchronised.
  PhaseSeconds read() const;

 private:
  void record(size_t mark);

  int device_;
  cudaStream_t stream_;
  std::vector<Event> marks_;  // the beginning, then the end of each phase
};

}  // namespace rondo
