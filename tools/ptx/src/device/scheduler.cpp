// Runs the warps of clusters in turns, and the asynchronous operations between these turns.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "async.h"
#include "execution.h"
#include "fault.h"
#include "interpreter.h"
#include "place.h"
#include "start.h"
#include "statistics.h"
#include "waiting.h"

namespace ptx {
namespace {

constexpr int64_t kSlice = 200'000;  // instructions of a warp in a turn
constexpr int64_t kLeastDrawnSlice = 50, kMostDrawnSlice = 5000;
constexpr int64_t kPolling = 24;  // a warp that executed more did more than polling
// Warps without progress are followed after so many instructions. Not by the clock, because that changes the
// order of warps, which a seed repeats.
constexpr int64_t kFollowed = 4'000'000, kCostOfTurn = 1000, kCostOfIdleRound = 4000;
// A cluster that has executed so many instructions since a warp has exited may wait, through barriers, for
// one that has not started.
constexpr int64_t kUntilAnother = 50'000'000;
constexpr int kLongerPatience = 12;  // where a wait is less certain to be a deadlock

// Workers of all launches, because kernels may wait for each other; and those whose clusters only wait.
std::atomic<int> running_workers{0}, idle_workers{0};

// What a round of all warps achieved.
enum class Round { progress, busy, nothing };

class Turns {
 public:
  explicit Turns(const Launch& launch)
      : launch_(launch), state_(launch), drawn_(launch.seed || launch.late.drawn) {
    ++running_workers;
    if (!launch.count) return;
    counts_.resize(state_.code->instructions.size());
    state_.counts = counts_.data();
  }
  ~Turns() {
    set_idle(false);
    --running_workers;
    if (launch_.count) add_counts(*launch_.kernel, counts_);
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  void add(uint64_t number) {
    if (launch_.count && number == 0) count_launch(*launch_.kernel);
    resident_.push_back({start_cluster(state_, number)});
    if (!drawn_) return;
    const uint64_t seed = launch_.seed.value_or(0);
    std::seed_seq all{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), launch_.sequence,
                      static_cast<uint32_t>(number)};
    resident_.back().cluster->random.seed(all);
  }

  void run() {
    try {
      while (!resident_.empty()) {
        const Round round = run_round();
        if (ended_one_) {
          reset();
          continue;
        }
        const bool loaded = perform_loads(round);
        if (round == Round::progress || loaded) {
          reset();
          if (since_exit_ > kUntilAnother) start_others();
        } else if (!start_others()) {
          wait_or_fail(round);
        }
      }
    } catch (Fault& fault) {
      fault.text += describe(fault);
      throw;
    }
  }

 private:
  struct Resident {
    std::unique_ptr<Cluster> cluster;
    // With a seed, one block of the cluster runs alone for some rounds, or until it waits for others.
    size_t favoured = 0;
    uint64_t favoured_rounds = 0;
  };

  Round run_round() {
    Round round = Round::nothing;
    ended_one_ = false;
    for (size_t n = 0; n < resident_.size();) {
      Cluster& cluster = *resident_[n].cluster;
      const bool live = run_blocks(resident_[n], &round);
      if (live) {
        ++n;
        continue;
      }
      if (!cluster.loads.empty())
        fail(kLaunchFailure,
             "all threads of a block have exited while a bulk copy to its shared memory is in flight");
      ended_one_ = true;
      resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(n));
    }
    running_ = nullptr;
    return round;
  }

  // Whether any thread of the cluster is live.
  bool run_blocks(Resident& resident, Round* round) {
    constexpr uint64_t kMostRounds = 32;
    Cluster& cluster = *resident.cluster;
    cluster.progress = false;
    Round of_favoured = Round::nothing;
    const bool favours = launch_.seed && cluster.blocks.size() > 1;
    if (favours) {
      if (resident.favoured_rounds == 0) {
        resident.favoured = cluster.random() % cluster.blocks.size();
        resident.favoured_rounds = 1 + cluster.random() % kMostRounds;
      }
      --resident.favoured_rounds;
      run_warps(cluster, *cluster.blocks[resident.favoured], &of_favoured);
    }
    if (!cluster.progress && of_favoured == Round::nothing) {
      resident.favoured_rounds = 0;
      for (const auto& block : cluster.blocks) run_warps(cluster, *block, round);
    }
    *round = cluster.progress ? Round::progress : std::min(*round, of_favoured);
    return std::any_of(cluster.blocks.begin(), cluster.blocks.end(),
                       [](const auto& block) { return block->live_threads != 0; });
  }

  void run_warps(Cluster& cluster, Block& block, Round* round) {
    const size_t count = block.warps.size(), first = launch_.seed ? cluster.random() % count : 0;
    for (size_t n = 0; n < count; ++n) {
      Warp& warp = block.warps[(first + n) % count];
      if (warp.live != 0) run_warp(cluster, warp, round);
    }
  }

  void run_warp(Cluster& cluster, Warp& warp, Round* round) {
    running_ = &warp;
    const int64_t slice =
        drawn_
            ? kLeastDrawnSlice + static_cast<int64_t>(cluster.random() % (kMostDrawnSlice - kLeastDrawnSlice))
            : kSlice;
    int64_t executed = 0;
    const Pause pause = execute(warp, *state_.code, slice, &executed);
    if (launch_.late.drawn) perform_drawn(cluster, warp);
    if (pause == Pause::done) {
      give_back_registers(warp, *state_.code);
      cluster.progress = true;
      since_exit_ = 0;
      return;
    }
    if (pause == Pause::blocked && executed > 0) cluster.progress = true;
    if (pause == Pause::slice || (pause == Pause::polls && executed > kPolling))
      *round = std::min(*round, Round::busy);
    const int64_t cost = executed + kCostOfTurn;
    unfollowed_ += cost;
    since_exit_ += cost;
  }

  void perform_drawn(Cluster& cluster, Warp& warp) {
    for (uint64_t n = cluster.random() % 4; n > 0; --n) {
      perform_drawn_copy(warp, cluster.random());
      perform_drawn_store(warp, cluster.random());
      perform_next_product(warp);
    }
  }

  // A bulk copy to shared memory happens when nothing else does: warps that spin do not hold it up.
  bool perform_loads(Round round) {
    bool performed = false;
    for (const Resident& resident : resident_) {
      Cluster& cluster = *resident.cluster;
      if (cluster.loads.empty()) continue;
      const bool early = launch_.late.drawn && cluster.random() % 2 != 0;
      if (round == Round::progress && !early) continue;
      perform_load(cluster, drawn_ ? cluster.random() : 0);
      performed = true;
    }
    return performed;
  }

  // Blocks that wait for blocks that have not started: as many again start, because with each alone a chain
  // of blocks would take a round of all for every one of them.
  bool start_others() {
    if (!launch_.another_cluster) return false;
    since_exit_ = 0;
    bool started = false;
    for (size_t n = resident_.size(); n > 0; --n) {
      const std::optional<uint64_t> number = launch_.another_cluster();
      if (!number) break;
      add(*number);
      started = true;
    }
    return started;
  }

  void reset() {
    set_idle(false);
    unfollowed_ = 0;
  }

  void set_idle(bool idle) {
    if (idle != idle_) idle_workers += idle ? 1 : -1;
    idle_ = idle;
    if (!idle) idle_since_.reset();
  }

  // The clusters of other workers, other launches, copies or the host may do what these wait for.
  void wait_or_fail(Round round) {
    if (round == Round::nothing) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      unfollowed_ += kCostOfIdleRound;
    }
    if (unfollowed_ < kFollowed) return;
    unfollowed_ = 0;
    const Waiting waiting = follow_all();
    if (waiting == Waiting::works) return reset();
    set_idle(true);
    if (waiting == Waiting::in_cluster) fail(kLaunchFailure, "deadlock: no warp can go on");
    const auto now = std::chrono::steady_clock::now();
    if (idle_workers < running_workers || !idle_since_) idle_since_ = now;
    const bool certain = waiting == Waiting::for_memory && (!launch_.host_waits || launch_.host_waits());
    const auto patience = launch_.patience * (certain ? 1 : kLongerPatience);
    if (now - *idle_since_ < patience) return;
    fail(kLaunchFailure, "deadlock: the warps have only waited in loops for ", patience.count(),
         " s (PTX_PATIENCE)");
  }

  // What the live warps wait for: of the one that is most likely to go on.
  Waiting follow_all() {
    Waiting all = Waiting::in_cluster;
    for (const Resident& resident : resident_) {
      for (const auto& block : resident.cluster->blocks) {
        for (Warp& warp : block->warps) {
          if (warp.live == 0) continue;
          running_ = &warp;
          all = std::max(all, follow(warp, *state_.code));
          if (warp.live == 0) give_back_registers(warp, *state_.code);
          if (all == Waiting::works) return all;
        }
      }
    }
    running_ = nullptr;
    return all;
  }

  std::string describe(const Fault& fault) const {
    std::string text = "\n  " + describe_launch(state_);
    if (running_) return text + "\n  " + describe_warp(*running_, fault.lane);
    if (fault.text.find("deadlock") == std::string::npos) return text;
    int described = 0;
    for (const Resident& resident : resident_)
      for (const auto& block : resident.cluster->blocks)
        for (const Warp& warp : block->warps)
          if (warp.live != 0 && described++ < 24) text += "\n  " + describe_waiting(warp);
    return text;
  }

  const Launch& launch_;
  LaunchState state_;
  std::vector<uint64_t> counts_;  // of instructions, if they are counted
  const bool drawn_;              // slices and orders
  std::vector<Resident> resident_;
  Warp* running_ = nullptr;
  bool ended_one_ = false;
  bool idle_ = false;
  std::optional<std::chrono::steady_clock::time_point> idle_since_;  // all workers
  int64_t since_exit_ = 0;  // instructions since a warp has exited or a cluster has started
  int64_t unfollowed_ = 0;  // instructions without progress since the warps were followed
};

}  // namespace

void run_cluster(const Launch& launch, uint64_t cluster) {
  Turns turns(launch);
  turns.add(cluster);
  turns.run();
}

void run_together(const Launch& launch) {
  Turns turns(launch);
  for (uint64_t cluster = 0; cluster < cluster_count(launch); ++cluster) turns.add(cluster);
  turns.run();
}

}  // namespace ptx
