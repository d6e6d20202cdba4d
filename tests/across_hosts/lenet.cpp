// LeNet, trained for a moment in one process or several; process 0 prints a hash of all that came of it.
//
//   lenet LOCAL GROUP    alone, LOCAL ranks in groups of GROUP stand for processes of GROUP ranks
//   lenet check 0        no training: replicas of which one value of the last process differs, and what is counted
#include <rondo/collectives/across_hosts/mpi_process_group.h>
#include <rondo/kernels/core/platform.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/replica_check.h>
#include <rondo/tests/across_hosts/fingerprint.h>
#include <rondo/tests/nn/small_data.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace rondo::test {
namespace {

class Printer final : public lenet::Observer {
 public:
  explicit Printer(bool first) : first_(first) {}
  void on_step(const lenet::StepReport& report) override {
    if (first_) std::printf("step %d loss %a\n", static_cast<int>(report.step), report.loss);
  }
  void on_epoch(const EpochReport& report) override {
    if (first_)
      std::printf("epoch %d loss %a accuracy %a\n", static_cast<int>(report.epoch), report.train_loss,
                  report.test_accuracy);
  }

 private:
  bool first_;
};

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
  values[123] = std::abs(values[123]) * 2;  // more than the others have, as an integer too
  if (processes.index() == processes.size() - 1) {
    first.upload(values);
    second.upload(values);
  }
  count();
}

int run(int argc, char** argv) {
  if (argc != 3) return 2;
  std::unique_ptr<ProcessGroup> processes;
  try {
    if (std::getenv("OMPI_COMM_WORLD_SIZE")) processes = make_mpi_process_group({std::chrono::seconds(20)});
    if (std::string(argv[1]) == "check") {
      check_replicas(*processes);
      return 0;
    }
    const bool first = !processes || processes->index() == 0;
    lenet::Options options;
    options.devices = Ranks::spread(std::atoi(argv[1]));
    options.processes = processes.get();
    options.group_size = processes ? 0 : std::atoi(argv[2]);
    options.algorithm = Algorithm::hierarchical;
    options.batch_size = 50;
    options.epochs = 2;
    options.seed = 7;
    options.verify = true;
    options.inspect_steps = 2;
    Printer printer(first);
    const lenet::Result result = lenet::train(small_data(130, 41), options, printer);
    if (!first) return 0;
    std::printf("parameters %016llx\n",
                static_cast<unsigned long long>(
                    hash_of(result.parameters.data(), result.parameters.size() * sizeof(float))));
    std::printf("%d values differ in %d steps\n", static_cast<int>(result.differing_values),
                static_cast<int>(result.verified_steps));
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
