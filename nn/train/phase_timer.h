// PhaseTimer: the time of each phase of a step, measured with events between the phases.
//
// The events are captured in the step's graph, so every replay records them again at no cost for the host.
// read() returns the last replay.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <array>

namespace rondo {

enum class Phase { load, forward, backward, reduce, update };
inline constexpr int kPhases = 5;
inline constexpr std::array<const char*, kPhases> kPhaseNames = {"load", "forward", "backward", "reduce",
                                                                 "update"};

using PhaseSeconds = std::array<double, kPhases>;  // indexed by Phase

// Splits `seconds` in the proportions of one step's phases.
PhaseSeconds share_out(double seconds, PhaseSeconds step);

class PhaseTimer {
 public:
  explicit PhaseTimer(cudaStream_t stream);  // `stream` must belong to the current device

  // end() marks the end of `phase`, which began at the previous mark.
  void begin();
  void end(Phase phase);

  // The phases of the last completed step. The stream must be synchronised.
  PhaseSeconds read() const;

 private:
  void record(cudaEvent_t event);

  cudaStream_t stream_;
  Event begin_{Event::Kind::timing};
  std::array<Event, kPhases> ends_{Event(Event::Kind::timing), Event(Event::Kind::timing),
                                   Event(Event::Kind::timing), Event(Event::Kind::timing),
                                   Event(Event::Kind::timing)};
};

}  // namespace rondo
