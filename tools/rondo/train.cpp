#include <rondo/kernels/core/platform.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/fashion_mnist.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/tools/rondo/devices.h>
#include <rondo/tools/rondo/display.h>
#include <rondo/tools/rondo/format.h>
#include <rondo/tools/rondo/launched.h>
#include <rondo/tools/rondo/links/link_file.h>
#include <rondo/tools/rondo/trace_json.h>
#include <rondo/tools/rondo/train.h>
#include <rondo/tools/rondo/training_run.h>

#include <algorithm>
#include <optional>

namespace rondo::program {
namespace {

void show_model(std::ostream& out, const Terminal& terminal) {
  const std::vector<lenet::LayerSummary> layers = lenet::summary();
  int64_t parameters = 0;
  for (const lenet::LayerSummary& layer : layers) parameters += layer.parameters;
  show_field(out, terminal, "model", "LeNet, " + grouped(parameters) + " parameters");
  for (const lenet::LayerSummary& layer : layers) {
    const std::string output = left(layer.name, 28) + layer.output_shape;
    show_field(out, terminal, "",
               layer.parameters > 0 ? left(output, 42) + right(grouped(layer.parameters), 9) : output);
  }
}

// Several processes reduce hierarchically, and so do groups.
void check_algorithm(const TrainArguments& arguments, int64_t replicas, const ProcessGroup* processes) {
  if (!processes && arguments.group == 0) return;
  const std::string with = processes ? concat("in ", processes->size(), " processes") : "with --group";
  if (arguments.fixed_order) throw Error(bad_argument("--fixed-order is not possible ", with));
  if (arguments.algorithm != Algorithm::automatic)
    throw Error(bad_argument("--algorithm is '", name_of(arguments.algorithm), "', must be automatic ", with,
                             ", which reduce hierarchically"));
  if (processes && arguments.group > 0)
    throw Error(bad_argument("--group is ", arguments.group, ", must not be given ", with,
                             ", each of which is a group"));
  if (!processes && replicas % arguments.group != 0)
    throw Error(
        bad_argument("--group is ", arguments.group, ", must divide ", replicas, ", the number of replicas"));
}

// Refuses what does not fit the data, and only then what this machine does not have: a message does not depend
// on the machine where it need not.
lenet::Options options_for(const TrainArguments& arguments, const FashionMnist& data,
                           ProcessGroup* processes) {
  const int64_t samples = data.train_count;
  const std::string why =
      arguments.limit ? concat(" (--limit ", *arguments.limit, ")") : std::string(" in the training data");
  const int of_one = processes ? 1 : TrainArguments::kDefaultReplicas;  // where nobody says how many
  const int64_t replicas = (arguments.devices ? static_cast<int64_t>(arguments.devices->size()) : of_one) *
                           (processes ? processes->size() : 1);
  if (replicas > samples) {
    throw Error(bad_argument("--devices asks for ", replicas, " replicas",
                             arguments.devices ? "" : " when it is not given", ", must be at most ", samples,
                             ", the number of samples", why));
  }
  if (arguments.batch && *arguments.batch > samples) {
    throw Error(bad_argument("--batch is ", *arguments.batch, ", must be at most ", samples,
                             ", the number of samples", why));
  }
  if (arguments.batch && *arguments.batch < replicas) {
    throw Error(bad_argument("--batch is ", *arguments.batch, ": it must be at least ", replicas,
                             ", one sample for each of the ", replicas, " replicas of --devices"));
  }
  if (arguments.fixed_order && arguments.algorithm != Algorithm::automatic &&
      arguments.algorithm != Algorithm::direct) {
    throw Error(bad_argument("--algorithm is '", name_of(arguments.algorithm),
                             "', must be automatic or direct with --fixed-order"));
  }
  check_algorithm(arguments, replicas, processes);
  lenet::Options options;
  options.processes = processes;
  options.devices =
      processes && !arguments.devices ? device_for(*processes) : take_devices(arguments.devices);
  options.batch_size = std::min(arguments.batch.value_or(TrainArguments::kDefaultBatch), samples);
  options.lr = arguments.lr;
  options.epochs = arguments.epochs;
  options.seed = arguments.seed;
  options.algorithm = processes || arguments.group > 0 ? Algorithm::hierarchical : arguments.algorithm;
  options.group_size = processes ? 0 : arguments.group;
  options.verify = arguments.verify;
  if (arguments.fixed_order) options.order = SumOrder::balanced_tree;
  return options;
}

int64_t parameter_bytes() {
  int64_t parameters = 0;
  for (const lenet::LayerSummary& layer : lenet::summary()) parameters += layer.parameters;
  return parameters * static_cast<int64_t>(sizeof(float));
}

std::string recipe(const lenet::Options& options) {
  return concat("batch ", grouped(options.batch_size), ", learning rate ", options.lr, ", seed ",
                options.seed, ", ", name_of(options.algorithm), " all-reduce",
                options.order == SumOrder::balanced_tree ? ", fixed order" : "");
}

void show_plan(const lenet::Options& options, const FashionMnist& data, std::ostream& out,
               const Terminal& terminal) {
  const int64_t steps = (data.train_count + options.batch_size - 1) / options.batch_size;
  show_field(out, terminal, "training",
             concat(grouped(options.epochs), options.epochs == 1 ? " epoch of " : " epochs of ",
                    grouped(steps), steps == 1 ? " step, " : " steps, ", recipe(options)));
  show_field(out, terminal, "memory", byte_size(lenet::bytes_per_rank(data, options)) + " a replica");
  out << std::endl;
}

RunTitle title(const lenet::Options& options, bool authentic) {
  return {authentic ? "LeNet on Fashion-MNIST" : "LeNet",
          recipe(options) + " on " + device_list(options.devices)};
}

class Follower final : public lenet::Observer {
 public:
  explicit Follower(RunFollower run) : run_(std::move(run)) {}
  void on_progress(const TrainingProgress& progress) override { run_.show(progress); }
  void on_epoch(const EpochReport& report) override { run_.show(report); }

 private:
  RunFollower run_;
};

void train_and_show(const TrainArguments& arguments, const TrainingFiles& files, std::ostream& out,
                    const Terminal& terminal, ProcessGroup* processes) {
  const FashionMnist data = load_images(arguments);
  lenet::Options options = options_for(arguments, data, processes);
  const StoredLinks links = stored_links(options.devices);
  if (links.table && options.devices.size() > 1) {
    options.devices = best_placement(*links.table, options.devices);
    if (options.algorithm == Algorithm::automatic && options.order == SumOrder::left_to_right)
      options.algorithm = best_algorithm(*links.table, options.devices, parameter_bytes());
  }
  const lenet::Options run = arguments.fixed_order ? lenet::in_fixed_order(options) : options;
  if (processes) show_field(out, terminal, "processes", places_text(*processes));
  show_placement(options.devices, arguments.devices.has_value(), out, terminal);
  show_images(data, arguments.limit.has_value(), out, terminal);
  show_model(out, terminal);
  if (!links.note.empty()) show_field(out, terminal, "links", links.note);
  show_plan(run, data, out, terminal);

  std::optional<Trace> trace;
  if (!arguments.trace.empty()) trace.emplace(run.devices);  // by all processes: it changes how a step is run
  lenet::Result result;
  {
    Display display(out, terminal, options.epochs);
    display.show(TrainingProgress{.epoch = 1, .samples = data.train_count});
    Follower follower({display, files, title(options, data.authentic), options.lr});
    result = lenet::train(data, run, follower, trace ? &*trace : nullptr);
  }
  out << "\n";
  show_graph_refusal(result.graph_refusal, out, terminal);
  if (options.verify) show_verification(result.verified_steps, result.differing_values, out, terminal);
  if (files.trace.wanted()) files.trace.write(trace_json(trace->collect(), trace->devices()));
  show_written(files, out);
  out << inked(terminal, Ink::bold, last_line(result.epochs, options.devices))
      << (processes ? concat(" in each of ", processes->size(), " processes") : "") << std::endl;
}

}  // namespace

void train(const TrainArguments& arguments, std::ostream& out, const Terminal& terminal,
           ProcessGroup* processes) {
  if (processes && processes->index() > 0) {
    std::ostream nowhere(nullptr);
    return train_and_show(arguments, TrainingFiles(), nowhere, {}, processes);
  }
  train_and_show(arguments, TrainingFiles(arguments), out, terminal, processes);
}

}  // namespace rondo::program
