#include <rondo/nn/lenet_processes.h>

#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/collectives/combine/combine.h>

#include <array>

namespace rondo::lenet {

namespace {

// What each process has, in their order.
template <class T>
std::vector<T> of_all(const T& own, const Options& options, const char* what) {
  const std::lock_guard turn(options.processes->turn());
  std::vector<T> all;
  throw_if_error(gather(*options.processes, own, all, concat("training LeNet, ", what)));
  return all;
}

// What must be the same everywhere.
struct Recipe {
  int64_t ranks, batch_size, epochs, train_count, test_count, inspect_steps;
  uint64_t seed;
  double lr;
  bool verify;
};

Recipe recipe_of(const FashionMnist& data, const Options& o) {
  return {static_cast<int64_t>(o.devices.size()),
          o.batch_size,
          o.epochs,
          data.train_count,
          data.test_count,
          o.inspect_steps,
          o.seed,
          o.lr,
          o.verify};
}

}  // namespace

int total_ranks(const Options& options) {
  return static_cast<int>(options.devices.size()) * (options.processes ? options.processes->size() : 1);
}

int first_rank(const Options& options) {
  return static_cast<int>(options.devices.size()) * (options.processes ? options.processes->index() : 0);
}

void check_same_training(const FashionMnist& data, const Options& options) {
  if (!options.processes) return;
  const std::vector<Recipe> all = of_all(recipe_of(data, options), options, "comparing the options");
  const auto compare = [&](const char* what, auto field) {
    for (size_t process = 1; process < all.size(); ++process)
      if (all[process].*field != all[0].*field)
        throw Error(bad_argument("training LeNet: ", what, " is ", all[process].*field, " in ",
                                 options.processes->name(static_cast<int>(process)), " and ", all[0].*field,
                                 " in ", options.processes->name(0), ", must be the same in all processes"));
  };
  compare("the number of devices", &Recipe::ranks);
  compare("batch_size", &Recipe::batch_size);
  compare("epochs", &Recipe::epochs);
  compare("the number of training images", &Recipe::train_count);
  compare("the number of test images", &Recipe::test_count);
  compare("inspect_steps", &Recipe::inspect_steps);
  compare("seed", &Recipe::seed);
  compare("lr", &Recipe::lr);
  compare("verify", &Recipe::verify);
}

void copy_params_from_first_process(Replica& replica, const Options& options) {
  if (!options.processes) return;
  ProcessGroup& processes = *options.processes;
  const DeviceScope scope(replica.device);
  RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream));
  std::vector<float> values = replica.parameter_arena.download();
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(float));
  std::vector<ProcessGroup::Message> sends, receives;
  if (processes.index() > 0) receives.push_back({0, values.data(), bytes});
  for (int process = 1; processes.index() == 0 && process < processes.size(); ++process)
    sends.push_back({process, values.data(), bytes});
  const std::lock_guard turn(processes.turn());
  throw_if_error(processes.exchange(sends, receives, processes.next_tag(), "copying the initial parameters"));
  replica.parameter_arena.upload(values);
}

std::vector<LossTally> tallies_of_all(const std::vector<LossTally>& own, const Options& options) {
  if (!options.processes) return own;
  std::array<LossTally, kMaxRanks> sent;
  std::copy(own.begin(), own.end(), sent.begin());
  std::vector<LossTally> all;
  for (const auto& tallies : of_all(sent, options, "adding up the loss"))
    all.insert(all.end(), tallies.begin(), tallies.begin() + static_cast<std::ptrdiff_t>(own.size()));
  return all;
}

LossTally sum(const std::vector<LossTally>& tallies) {
  LossTally total;
  for (const LossTally& tally : tallies) {
    total.loss += tally.loss;
    total.correct += tally.correct;
    total.rows += tally.rows;
    total.bad_labels += tally.bad_labels;
  }
  return total;
}

int64_t sum_over_processes(int64_t own, const Options& options) {
  if (!options.processes) return own;
  int64_t total = 0;
  for (int64_t part : of_all(own, options, "adding up")) total += part;
  return total;
}

}  // namespace rondo::lenet
