#include "waiting.h"

#include <algorithm>

#include "execution.h"

namespace ptx {
namespace {

constexpr int kMostSteps = 8192;  // loops that wait are shorter

// What decides what a warp executes next, besides memory.
class State {
 public:
  State(const Warp& warp, const Code& code)
      : control_(control_of(warp)),
        registers_(warp.registers, warp.registers + code.register_bytes),
        local_(warp.local) {}
  // Whether the warp has this state. Registers are compared only at the same place.
  bool is_of(const Warp& warp) const {
    return control_ == control_of(warp) && std::equal(registers_.begin(), registers_.end(), warp.registers) &&
           local_ == warp.local;
  }

 private:
  struct Control {
    uint32_t live, parked, waiting, yielded, tired, lanes;
    std::array<int32_t, kWarpSize> places;
    std::array<uint32_t, kWarpSize> carry;
    bool operator==(const Control&) const = default;
  };
  static Control control_of(const Warp& warp) {
    Control control{warp.live, warp.parked, warp.waiting, warp.yielded, warp.tired, warp.active, {}, {}};
    std::copy_n(warp.lane_pc, kWarpSize, control.places.begin());
    std::copy_n(warp.carry, kWarpSize, control.carry.begin());
    return control;
  }

  Control control_;
  std::vector<char> registers_, local_;
};

// Notes of the handlers which stores change something.
class Watch {
 public:
  explicit Watch(Warp& warp) : warp_(warp) {
    warp_.watched = true;
    warp_.changed = false;
  }
  ~Watch() { warp_.watched = false; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Warp& warp_;
};

}  // namespace

// Brent's algorithm: the state is compared with the one before a number of steps that doubles.
Waiting follow(Warp& warp, const Code& code) {
  Cluster& cluster = *warp.block->cluster;
  const Watch watch(warp);
  cluster.progress = false;
  State seen(warp, code);
  bool tests = false, reads = false, attempts = false;  // mbarriers, memory, memory that others change
  for (int step = 1, save_at = 2; step <= kMostSteps; ++step) {
    int64_t executed = 0;
    const uint32_t live = warp.live;
    const Pause pause = execute(warp, code, 1, &executed);
    if (pause == Pause::blocked && executed == 0) return Waiting::in_cluster;
    if (pause == Pause::blocked || warp.live != live || warp.changed || cluster.progress || warp.at->changes)
      return Waiting::works;
    tests |= warp.at->flow == Flow::poll || warp.at->flow == Flow::wait;
    attempts |= warp.at->flow == Flow::attempt || warp.at->flow == Flow::sleep;
    reads |= warp.at->loads;
    if (seen.is_of(warp)) return tests && !reads && !attempts ? Waiting::in_cluster : Waiting::for_memory;
    if (step != save_at) continue;
    save_at *= 2;
    seen = State(warp, code);
  }
  if (attempts) return Waiting::counting;
  return tests && !reads ? Waiting::for_memory : Waiting::works;  // mbarriers, with a look at the clock
}

}  // namespace ptx
