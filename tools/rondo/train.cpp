#include <rondo/kernels/core/platform.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/fashion_mnist.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/tools/rondo/csv_log.h>
#include <rondo/tools/rondo/devices.h>
#include <rondo/tools/rondo/display.h>
#include <rondo/tools/rondo/format.h>
#include <rondo/tools/rondo/launched.h>
#include <rondo/tools/rondo/links/link_file.h>
#include <rondo/tools/rondo/output_file.h>
#include <rondo/tools/rondo/plot_svg.h>
#include <rondo/tools/rondo/trace_json.h>
#include <rondo/tools/rondo/train.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace rondo::program {
namespace {

struct Outputs {
  Outputs() : Outputs(TrainArguments()) {}  // none
  explicit Outputs(const TrainArguments& arguments)
      : log("--log", arguments.log), plot("--plot", arguments.plot), trace("--trace", arguments.trace) {
    std::map<std::string, std::string> option_of;  // by target
    for (const auto& [option, file] : {std::pair{"--log", &log}, {"--plot", &plot}, {"--trace", &trace}}) {
      if (!file->wanted()) continue;
      const auto [other, is_new] = option_of.emplace(file->target(), option);
      if (!is_new) {
        throw Error(bad_argument(option, " '", file->path(), "' is the same file as ", other->second,
                                 "'s, must be another"));
      }
    }
  }

  OutputFile log, plot, trace;
};

// A label in front, then what belongs to it.
void show_field(std::ostream& out, const Terminal& terminal, const std::string& label,
                const std::string& text) {
  out << inked(terminal, Ink::dim, left(label, 10)) << text << "\n";
}

// Devices of one kind share a line. That ranks share a device is said, and why, where nobody `asked` for it.
void show_placement(const std::vector<int>& devices, bool asked, std::ostream& out,
                    const Terminal& terminal) {
  std::vector<std::pair<std::string, std::vector<int>>> kinds;
  for (int device : std::set<int>(devices.begin(), devices.end())) {
    std::string kind = describe_device(device);
    const std::string label = device_label(device) + ", ";
    if (kind.starts_with(label)) kind.erase(0, label.size());
    if (kinds.empty() || kinds.back().first != kind) kinds.push_back({kind, {}});
    kinds.back().second.push_back(device);
  }
  const char* title = "devices";
  for (const auto& [kind, members] : kinds) {
    show_field(out, terminal, title, device_list(members) + " " + kind);
    title = "";
  }
  if (devices.size() == std::set<int>(devices.begin(), devices.end()).size()) return;
  show_field(out, terminal, "replicas",
             asked ? device_list(devices)
                   : concat("two ranks share ", device_label(0), ": this machine has one GPU"));
}

FashionMnist load_data(const TrainArguments& arguments) {
  const std::string directory = arguments.data.value_or(kFashionMnistDirectory);
  if (!arguments.data && !std::filesystem::exists(directory)) {
    throw Error(
        bad_argument("Fashion-MNIST is not installed (", directory,
                     " does not exist): install the package dataset-fashion-mnist, or name a directory with "
                     "its four files by --data DIR"));
  }
  return load_fashion_mnist(directory, arguments.data ? Checksums::report : Checksums::require);
}

void show_data(const FashionMnist& data, bool limited, std::ostream& out, const Terminal& terminal) {
  show_field(
      out, terminal, "data",
      concat(data.authentic ? "Fashion-MNIST (SHA-256 verified): " : "not the original Fashion-MNIST: ",
             limited ? "the first " : "", grouped(data.train_count), " training and ",
             grouped(data.test_count), " test images of 28 x 28"));
}

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

// The algorithm and the order of the ranks around the ring by what is known of the links. Rank and position stay the
// same number, so that no result depends on the order; in fixed order the algorithm is settled.
void use_links(const LinkTable& table, lenet::Options& options) {
  const std::vector<int> order = best_ring_order(table, options.devices);
  if (options.algorithm == Algorithm::automatic && options.order == SumOrder::left_to_right) {
    int64_t parameters = 0;
    for (const lenet::LayerSummary& layer : lenet::summary()) parameters += layer.parameters;
    options.algorithm =
        choose(static_cast<int>(order.size()), parameters * static_cast<int64_t>(sizeof(float)),
               constants_of(table, options.devices, order), all_reach_all(table, options.devices));
  }
  const std::vector<int> devices = options.devices;
  for (size_t position = 0; position < order.size(); ++position)
    options.devices[position] = devices[static_cast<size_t>(order[position])];
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

std::string picture(const std::vector<EpochReport>& epochs, const lenet::Options& options,
                    bool authentic) {
  Panel loss{.name = "training loss", .colour = "#2a6fdb", .values = {}};
  Panel accuracy{.name = "test accuracy", .colour = "#e4572e", .values = {}, .top = 1, .as_percent = true};
  double seconds = 0;
  for (const EpochReport& epoch : epochs) {
    loss.values.push_back(epoch.train_loss);
    accuracy.values.push_back(epoch.test_accuracy);
    seconds += epoch.seconds;
  }
  const std::string pace = duration(seconds / static_cast<double>(epochs.size())) + " an epoch";
  return plot_svg(authentic ? "LeNet on Fashion-MNIST" : "LeNet",
                  recipe(options) + " on " + device_list(options.devices) + ", " + pace, {loss, accuracy});
}

// Guessing has the loss log(10); what is hundreds of times worse does not come back.
constexpr double kHopeless = 1000;

// Shows the run as it goes, and keeps the log and the picture up to date, so that a run that is stopped by
// hand has left what it had.
class Follower final : public lenet::Observer {
 public:
  Follower(Display& display, const Outputs& outputs, const lenet::Options& options, bool authentic)
      : display_(display), outputs_(outputs), options_(options), authentic_(authentic) {}

  void on_progress(const TrainingProgress& progress) override { display_.show(progress); }

  void on_epoch(const EpochReport& report) override {
    display_.show(report);
    epochs_.push_back(report);
    if (outputs_.log.wanted()) outputs_.log.write(csv_log(epochs_));
    if (outputs_.plot.wanted()) outputs_.plot.write(picture(epochs_, options_, authentic_));
    if (!(report.train_loss < kHopeless)) {  // NaN too
      throw TrainingFailed(concat("the loss of epoch ", report.epoch, " is ", loss_text(report.train_loss),
                                  ": the training diverged; a learning rate below ", options_.lr,
                                  " may help"));
    }
  }

 private:
  Display& display_;
  const Outputs& outputs_;
  const lenet::Options& options_;
  bool authentic_;
  std::vector<EpochReport> epochs_;
};

void show_verification(const lenet::Result& result, std::ostream& out, const Terminal& terminal) {
  if (result.differing_values != 0) {
    throw TrainingFailed(concat("the replicas differ: ", result.differing_values, " values in ",
                                result.verified_steps, " steps, must be none"));
  }
  out << inked(terminal, Ink::good,
               concat("verified: all replicas bitwise equal after each of ", grouped(result.verified_steps),
                      " steps"))
      << "\n";
}

void train_and_show(const TrainArguments& arguments, const Outputs& outputs, std::ostream& out,
                    const Terminal& terminal, ProcessGroup* processes) {
  FashionMnist data = load_data(arguments);
  if (arguments.limit) keep_first(data, *arguments.limit);
  lenet::Options options = options_for(arguments, data, processes);
  const StoredLinks links = stored_links(options.devices);
  if (links.table && options.devices.size() > 1) use_links(*links.table, options);
  const lenet::Options run = arguments.fixed_order ? lenet::in_fixed_order(options) : options;
  if (processes) show_field(out, terminal, "processes", places_text(*processes));
  show_placement(options.devices, arguments.devices.has_value(), out, terminal);
  show_data(data, arguments.limit.has_value(), out, terminal);
  show_model(out, terminal);
  if (!links.note.empty()) show_field(out, terminal, "links", links.note);
  show_plan(run, data, out, terminal);

  std::optional<Trace> trace;
  if (!arguments.trace.empty()) trace.emplace(run.devices);  // by all processes: it changes how a step is run
  lenet::Result result;
  {
    Display display(out, terminal, options.epochs);
    display.show(TrainingProgress{.epoch = 1, .samples = data.train_count});
    Follower follower(display, outputs, options, data.authentic);
    result = lenet::train(data, run, follower, trace ? &*trace : nullptr);
  }
  out << "\n";
  if (options.verify) show_verification(result, out, terminal);
  if (outputs.trace.wanted()) outputs.trace.write(trace_json(trace->collect(), trace->devices()));
  for (const OutputFile* file : {&outputs.log, &outputs.plot, &outputs.trace}) {
    if (file->wanted()) out << "wrote " << file->path() << "\n";
  }
  out << inked(terminal, Ink::bold, last_line(result.epochs, options.devices))
      << (processes ? concat(" in each of ", processes->size(), " processes") : "") << std::endl;
}

}  // namespace

void train(const TrainArguments& arguments, std::ostream& out, const Terminal& terminal,
           ProcessGroup* processes) {
  if (processes && processes->index() > 0) {
    std::ostream nowhere(nullptr);
    return train_and_show(arguments, Outputs(), nowhere, {}, processes);
  }
  train_and_show(arguments, Outputs(arguments), out, terminal, processes);
}

}  // namespace rondo::program
