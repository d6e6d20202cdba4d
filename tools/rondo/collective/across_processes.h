// ProcessEngine: ranks in several processes, with the same number in each. It supports the all-reduce only.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/tools/rondo/collective/engine.h>
#include <rondo/tools/rondo/collective/report.h>

namespace rondo::program {

class ProcessEngine final : public Engine {
 public:
  ProcessEngine(ProcessGroup& processes, std::vector<int> devices);

  int ranks() const override { return communicator_.total_size(); }
  int first_rank() const override { return processes_.index() * communicator_.size(); }
  const std::vector<int>& devices() const override { return devices_; }
  Status enqueue(const CollectiveCall& call, RankOutputs outputs, RankInputs inputs,
                 RankStreams streams) override;
  Algorithm algorithm_of(const CollectiveCall&, int64_t) const override { return Algorithm::hierarchical; }
  bool peers_reachable() const override { return communicator_.all_reach_all(); }
  void set_trace(Trace* trace) override { communicator_.set_trace(trace); }
  int64_t sum_over_processes(int64_t own) override;

  const Communicator& communicator() const { return communicator_; }

 private:
  ProcessGroup& processes_;
  std::vector<int> devices_;
  Communicator communicator_;
};

// The lowest rate, in bytes per second, at which a process sends to the next and receives from the previous
// process, all processes at the same time.
double measure_messages(ProcessGroup& processes);

// The report before the measurement: ranks, places and constants. Each process takes the place of a device in
// it: the wire is the connection between processes.
CollectiveReport report_across(ProcessGroup& processes, const CollectiveArguments& arguments,
                               const std::vector<int>& devices);

}  // namespace rondo::program
