// Engine: runs the operation that is measured. Measurement, checks and output do not depend on where the
// other ranks are: this process may hold only some of all ranks.
#pragma once

#include <rondo/collectives/collectives.h>
#include <rondo/tools/rondo/collective/verb.h>

#include <memory>

namespace rondo::program {

struct CollectiveCall {
  Verb verb = Verb::all_reduce;
  DType dtype = DType::float32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  Algorithm algorithm = Algorithm::automatic;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual int ranks() const = 0;                        // over all processes
  virtual int first_rank() const = 0;                   // of this process; its ranks are consecutive
  virtual const std::vector<int>& devices() const = 0;  // of this process's ranks

  // The vectors and streams of this process's ranks, in order. If only the root has an input or an output for
  // this verb, the other entries are not read.
  virtual Status enqueue(const CollectiveCall& call, RankOutputs outputs, RankInputs inputs,
                         RankStreams streams) = 0;

  // The algorithm that Algorithm::automatic selects for a call with `bytes` on the larger side of a rank.
  virtual Algorithm algorithm_of(const CollectiveCall& call, int64_t bytes) const = 0;
  virtual bool peers_reachable() const = 0;

  virtual void set_trace(Trace* trace) = 0;  // as Communicator::set_trace

  // Returns the sum of one number per process.
  virtual int64_t sum_over_processes(int64_t own) { return own; }
};

// All ranks in this process.
class LocalEngine final : public Engine {
 public:
  LocalEngine(std::vector<int> devices, CommunicatorOptions options);

  int ranks() const override { return communicator_.size(); }
  int first_rank() const override { return 0; }
  const std::vector<int>& devices() const override { return devices_; }
  Status enqueue(const CollectiveCall& call, RankOutputs outputs, RankInputs inputs,
                 RankStreams streams) override;
  Algorithm algorithm_of(const CollectiveCall& call, int64_t bytes) const override;
  bool peers_reachable() const override { return communicator_.all_reach_all(); }
  void set_trace(Trace* trace) override { communicator_.set_trace(trace); }

  const Communicator& communicator() const { return communicator_; }

 private:
  std::vector<int> devices_;
  Communicator communicator_;
};

}  // namespace rondo::program
