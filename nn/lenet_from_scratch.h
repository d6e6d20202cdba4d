// LeNet on Fashion-MNIST, trained data-parallel from scratch. The lesson is lenet_from_scratch.cpp; this is
// what the program `rondo train lenet` calls.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/trace.h>
#include <rondo/nn/fashion_mnist.h>
#include <rondo/nn/training_report.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {
class ProcessGroup;
}

namespace rondo::lenet {

struct Options {
  std::vector<int> devices{0, 1};  // one entry a rank; the same device may appear several times
  int64_t batch_size = 256;        // over all devices together
  float lr = 0.2f;
  int epochs = 10;
  uint64_t seed = 0;                           // of the weights and of the order of the samples
  Algorithm algorithm = Algorithm::automatic;  // of the all-reduce
  SumOrder order = SumOrder::left_to_right;    // in which it adds
  bool verify = false;                         // after every step, compare all replicas bit by bit
  int64_t inspect_steps = 0;  // so many first steps run one by one and are shown to Observer::on_step
  int group_size = 0;         // CommunicatorOptions::group_size
  // Several processes that train together, null for one alone. `devices` are then those of this process, as many in
  // each, and the batch is over the ranks of all. They see the same data and have the same options, and each of them
  // records the same steps into a trace, or none.
  ProcessGroup* processes = nullptr;
};

// One of the first Options::inspect_steps steps, seen from inside.
struct StepReport {
  int64_t step = 0;              // from 0
  double loss = 0;               // mean over the step's batch
  std::vector<float> gradients;  // rank 0's arena after the all-reduce: sums over the batch, not yet divided
};

// Called by the training thread while the devices work.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_progress(const TrainingProgress&) {}
  virtual void on_step(const StepReport&) {}
  virtual void on_epoch(const EpochReport&) {}
};

struct Result {
  std::vector<EpochReport> epochs;
  std::vector<float> parameters;  // rank 0's arena at the end
  int64_t verified_steps = 0;     // with Options::verify: steps after which all replicas were compared
  int64_t differing_values = 0;   // ... and how many values differed in any bit, over all of them
  Status graph_refusal;  // why steps were not run as graphs (StepGraph::refusal()); ok where they were
};

struct LayerSummary {
  std::string name;
  std::string output_shape;
  int64_t parameters = 0;
};

// Training whose parameters have the same bits on 1 to 8 devices. Every batch is cut into kSampleBlocks blocks of
// samples, whatever the number of devices; each block has a replica of its own, and the devices share the replicas
// out. The gradients of the blocks are added as a balanced tree. What a replica computes does not depend on the
// device, and the tree knows blocks only. (Where devices differ in architecture their kernels may, too.)
// `options` with the devices replaced by one entry a block. Throws bad_argument where there are more devices.
inline constexpr int kSampleBlocks = 8;
Options in_fixed_order(Options options);

// The layers in order, for a batch of one image.
std::vector<LayerSummary> summary();

// Bytes of device memory that each rank holds for these options, data set included. Throws a bad_argument
// Error as train() does.
int64_t bytes_per_rank(const FashionMnist& data, const Options& options);

// Trains and reports after each epoch. `trace` may be null; if not, the first steps are recorded into it.
// Throws rondo::Error: bad_argument when an option makes no sense, out_of_resources, device_failed.
Result train(const FashionMnist& data, const Options& options, Observer& observer, Trace* trace = nullptr);

}  // namespace rondo::lenet
