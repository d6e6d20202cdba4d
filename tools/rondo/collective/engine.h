// Engine: carries out the operation that is measured. What is measured, checked and printed does not depend on where
// the other ranks are: this process may hold only some of a larger world's.
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

  virtual int ranks() const = 0;                        // of the whole world
  virtual int first_rank() const = 0;                   // of those in this process, which are consecutive
  virtual const std::vector<int>& devices() const = 0;  // of this process's ranks

  // Vectors and streams are those of this process's ranks, in order. Where the verb has only one vector, at the root,
  // the others' are not read.
  virtual Status enqueue(const CollectiveCall& call, RankOutputs outputs, RankInputs inputs,
                         RankStreams streams) = 0;

  // What Algorithm::automatic takes for a call of so many bytes a rank on its larger side.
  virtual Algorithm algorithm_of(const CollectiveCall& call, int64_t bytes) const = 0;
  virtual bool peers_reachable() const = 0;

  virtual void set_trace(Trace* trace) = 0;  // as Communicator::set_trace

  // Of a number that each process has.
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
