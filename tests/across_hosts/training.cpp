// Trains a network with all kinds of layers for a few steps, in one process or several. Process 0 prints the
// results.
//
//   training LOCAL GROUP    one process: LOCAL ranks in groups of GROUP replace processes of GROUP ranks
//   training LOCAL GROUP bf16   the same, with gradients that are reduced in bfloat16
//   training bad 0          one image of the last process is infinite: each process prints what it found
//   training diverge 0      the loss diverges: each process prints where it stopped
//   training stop 0         the last process is asked to stop: each process prints where it stopped
//   training batch 0        each process uses a different batch size
//   training bytes LOCAL    LOCAL ranks in each process: prints the bytes between processes in a step for
//                           each gradient, reduced in fp32 and in bf16
//   training graphs 0       each process prints a hash of its parameters, and why its steps are not graphs
//   training memory 0       the same, and the last process has no memory for graphs
//   training capture 0      the same, and CUDA does not let the last process record its copies
//   training launch 0       the same, and CUDA does not let the last process launch its graph
//   training check 0        no training: counts the differences if one value of the last process differs
#include <rondo/collectives/across_hosts/mpi_process_group.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/diagnostics/replica_check.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/tests/across_hosts/fingerprint.h>
#include <rondo/tests/across_hosts/forwarding_group.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/train/fixed_batch.h>

#ifdef __SIMT__
#include <rondo/tests/support/graph_memory.h>
#include <simt/faults.h>
#endif

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>

namespace rondo::test {
namespace {

nn::AnyModule network() {
  using namespace nn;
  return Sequential{
      Conv2d(6, 3, {.stride = 2}), BatchNorm2d(), ReLU(), MaxPool2d(2), Dropout(0.2f), Linear(10)};
}

nn::DataParallelOptions options_for(int local, int group, ProcessGroup* processes) {
  return {.devices = Ranks::spread(local),
          .batch = 50,
          .seed = 7,
          .group_size = group,
          .bucket_bytes = 2000,
          .micro_batches = 2,
          .keep_finite = true,
          .processes = processes};
}

class StopAfter final : public nn::FitObserver {
 public:
  explicit StopAfter(int steps) : left_(steps) {}
  bool stop() override { return --left_ == 0; }

 private:
  int left_;
};

std::string shown(const nn::FitResult& result) {
  const char* ends[] = {"done", "stopped", "diverged"};
  return concat(ends[static_cast<int>(result.end)], " in epoch ", result.state.epoch, " after ",
                counted(result.state.step, "step"), ": ", result.nonfinite_tensor);
}

void train(int local, int group, ProcessGroup* processes, DType reduce_dtype) {
  nn::DataParallelOptions options = options_for(local, group, processes);
  options.reduce_dtype = reduce_dtype;
  nn::DataParallel model(network(), {28, 28, 1}, options);
  nn::Adam adam(model);
  const nn::FitOptions fit = {
      .epochs = 2, .seed = 7, .learning_rate = nn::LearningRate::constant(0.01), .verify = true};
  const nn::FitResult result = nn::fit(model, adam, small_data(130, 41), fit);
  const std::vector<float> parameters = parameters_of(model);
  const std::vector<float> outputs = model.predict(normal_values(3 * 784, 5));
  if (processes && processes->index() > 0) return;
  for (const EpochReport& report : result.epochs)
    std::printf("epoch %d loss %a accuracy %a\n", static_cast<int>(report.epoch), report.train_loss,
                report.test_accuracy);
  for (const auto* values : {&parameters, &outputs})
    std::printf("%016llx\n",
                static_cast<unsigned long long>(hash_of(values->data(), values->size() * sizeof(float))));
  std::printf("%d values differ in %d steps\n", static_cast<int>(result.differing_values),
              static_cast<int>(result.verified_steps));
}

// Each process prints its result.
void stop_together(ProcessGroup& processes) {
  nn::DataParallel model(network(), {28, 28, 1}, options_for(2, 0, &processes));
  nn::Sgd sgd(model);
  const bool last = processes.index() == processes.size() - 1;
  StopAfter observer(last ? 4 : 1000);  // an epoch has 3 steps
  const nn::FitOptions fit = {.epochs = 5, .learning_rate = nn::LearningRate::constant(0.01)};
  std::printf("%s\n", shown(nn::fit(model, sgd, small_data(130, 41), fit, observer)).c_str());
}

// Sample 15 contains an infinity in the last process only.
void find_bad_input(ProcessGroup& processes) {
  constexpr int64_t kSamples = 18;
  nn::DataParallelOptions options = options_for(2, 0, &processes);
  options.micro_batches = 1;
  nn::DataParallel model(network(), {28, 28, 1}, options);
  std::vector<float> x = normal_values(kSamples * 784, 5);
  if (processes.index() == processes.size() - 1)
    x[15 * 784 + 3 * 28 + 4] = std::numeric_limits<float>::infinity();
  FixedBatch batch(model, x, some_labels(kSamples, 10));
  const auto bad = find_nonfinite_tensor(model, batch, 0);
  std::printf("%s\n", bad ? bad->text().c_str() : "nothing");
}

// The learning rate is so large that the loss diverges.
void diverge(ProcessGroup& processes) {
  nn::DataParallel model(network(), {28, 28, 1}, options_for(2, 0, &processes));
  nn::Sgd sgd(model);
  const nn::FitOptions fit = {.epochs = 5, .learning_rate = nn::LearningRate::constant(1e25)};
  std::printf("%s\n", shown(nn::fit(model, sgd, small_data(130, 41), fit)).c_str());
}

// Counts the bytes of the messages of all-reduces.
class CountingGroup final : public ForwardingGroup {
 public:
  using ForwardingGroup::ForwardingGroup;
  Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                  const std::string& what) override {
    if (what.ends_with(" sums"))
      for (const Message& message : sends) sent += message.bytes;
    return ForwardingGroup::exchange(sends, receives, tag, what);
  }
  std::atomic<int64_t> sent = 0;
};

void count_bytes(int local, ProcessGroup& processes) {
  CountingGroup counting(processes);
  std::string line;
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    nn::DataParallelOptions options = options_for(local, 0, &counting);
    options.sync_batch_norm = false;
    options.reduce_dtype = dtype;
    nn::DataParallel model(network(), {28, 28, 1}, options);
    nn::Sgd sgd(model);
    counting.sent = 0;
    model.train_step(normal_values(50 * 784, 5), some_labels(50, 10), sgd);
    model.streams().synchronize();
    const int64_t all = model.world().sum(counting.sent, "adding up bytes");
    line += concat(static_cast<double>(all) / static_cast<double>(model.graph().parameter_arena_size()), " ");
  }
  if (processes.index() == 0) std::printf("%s\n", line.c_str());
}

#ifdef __SIMT__
void train_with_graphs(const std::string& mode, ProcessGroup& processes) {
  const bool last = processes.index() == processes.size() - 1;
  std::optional<GraphMemory> memory;
  if (last && mode == "memory") memory.emplace(1, GraphMemory::for_nothing);
  if (last && (mode == "capture" || mode == "launch")) {
    RONDO_CUDA_THROW(simt::set_peer_access(0, 1, simt::PeerAccess::absent));
    RONDO_CUDA_THROW(simt::set_peer_access(1, 0, simt::PeerAccess::absent));
    simt::set_staged_graph_copies(mode == "capture" ? simt::StagedGraphCopies::not_captured
                                                    : simt::StagedGraphCopies::not_launched);
  }
  nn::DataParallel model(network(), {28, 28, 1}, options_for(2, 0, &processes));
  nn::Adam adam(model);
  const nn::FitOptions fit = {.epochs = 2, .seed = 7, .learning_rate = nn::LearningRate::constant(0.01)};
  nn::fit(model, adam, small_data(130, 41), fit);
  const std::vector<float> parameters = parameters_of(model);
  std::printf("%016llx %s.\n",
              static_cast<unsigned long long>(hash_of(parameters.data(), parameters.size() * sizeof(float))),
              model.graph_refusal().message().c_str());
}
#endif

void check_replicas(ProcessGroup& processes) {
  StreamGroup streams({0, 0});
  std::vector<float> values = normal_values(1000, 5);
  Buffer<float> first(values), second(values);
  const std::vector<VectorView<const float>> replicas = {{first.data(), 1000}, {second.data(), 1000}};
  ReplicaCheck check(streams, replicas, &processes);
  const auto count = [&] {
    streams.fork();
    check.enqueue();
    streams.join();
    std::vector<int64_t> all;
    throw_if_error(gather(processes, check.differences(), all, "counting"));
    if (processes.index() > 0) return;
    for (int64_t differences : all) std::printf("%d ", static_cast<int>(differences));
    std::printf("\n");
  };
  count();
  values[123] = std::abs(values[123]) * 2;  // larger than the others' value, also as an integer
  if (processes.index() == processes.size() - 1) {
    first.upload(values);
    second.upload(values);
  }
  count();
}

int run(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  std::unique_ptr<ProcessGroup> processes;
  try {
    if (std::getenv("OMPI_COMM_WORLD_SIZE")) processes = make_mpi_process_group({std::chrono::seconds(20)});
    if (std::string(argv[1]) == "check") {
      check_replicas(*processes);
      return 0;
    }
    const std::string mode = argv[1];
    if (mode == "bytes") {
      count_bytes(std::atoi(argv[2]), *processes);
      return 0;
    }
#ifdef __SIMT__
    if (mode == "graphs" || mode == "memory" || mode == "capture" || mode == "launch") {
      train_with_graphs(mode, *processes);
      return 0;
    }
#endif
    if (mode == "bad" || mode == "diverge" || mode == "stop") {
      (mode == "bad" ? find_bad_input : mode == "diverge" ? diverge : stop_together)(*processes);
      return 0;
    }
    if (mode == "batch") {
      nn::DataParallelOptions options = options_for(1, 0, processes.get());
      options.batch += processes->index();
      nn::DataParallel model(network(), {28, 28, 1}, options);
      return 0;
    }
    const bool bf16 = argc == 4 && std::string(argv[3]) == "bf16";
    train(std::atoi(argv[1]), processes ? 0 : std::atoi(argv[2]), processes.get(),
          bf16 ? DType::bfloat16 : DType::float32);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::fflush(nullptr);
    if (processes) processes->abort(3);
    return 3;
  }
}

}  // namespace
}  // namespace rondo::test

int main(int argc, char** argv) { return rondo::test::run(argc, argv); }
