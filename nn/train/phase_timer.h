// PhaseTimer: where a step's time goes, read from events between the phases.
//
// The marks are recorded into the step's graph, so that every replay sets them anew and a replay costs no
// host call; what is read is the last replay.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <array>

namespace rondo {

enum class Phase { load, forward, backward, reduce, update };
inline constexpr int kPhases = 5;
inline constexpr std::array<const char*, kPhases> kPhaseNames = {"load", "forward", "backward", "reduce",
                                                                 "update"};

using PhaseSeconds = std::array<double, kPhases>;  // indexed by Phase

// `seconds`, in the proportions of one step's phases.
PhaseSeconds share_out(double seconds, PhaseSeconds step);

class PhaseTimer {
 public:
  explicit PhaseTimer(cudaStream_t stream);  // on the current device, which must be the stream's

  // Marks the end of `phase`, which began where the mark before it stands.
  void begin();
  void end(Phase phase);

  // The phases of the last finished step. The stream must be synchronised.
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
