#include <nlohmann/json.hpp>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/diagnostics/replica_check.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/launched.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/train/ranks.h>
#include <rondo/tools/rondo/train/trace_json.h>
#include <rondo/tools/rondo/train/train_mlp.h>
#include <rondo/tools/rondo/train/train_network.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

namespace rondo::program {

namespace {

// Untimed steps: the first is enqueued kernel by kernel, the second is recorded as a graph.
constexpr int kFirstSteps = 2;

nn::DataParallelOptions options_for(const MlpArguments& arguments, ProcessGroup* processes) {
  const bool single = arguments.mode == MlpMode::single;
  if (single && processes)
    throw Error(bad_argument("--mode is 'single', must be sharded or replicated in ",
                             counted(processes->size(), "process", "processes")));
  if (single && arguments.devices && arguments.devices->size() != 1)
    throw Error(bad_argument("--devices asks for ", counted(arguments.devices->size(), "replica"),
                             ", must be 1 with --mode single"));
  const int in_one = single ? 1 : 2;
  const int64_t replicas = replicas_for(arguments, in_one, processes);
  nn::DataParallelOptions options;
  options.batch = arguments.batch.value_or(MlpArguments::kBatchOfADevice * replicas);
  if (arguments.micro_batches > options.batch)
    throw Error(bad_argument("--micro-batches is ", arguments.micro_batches, ", must be at most ",
                             options.batch, ", the batch"));
  options.seed = arguments.seed;
  options.micro_batches = arguments.micro_batches;
  options.checkpoint_layers = arguments.checkpoint_layers;
  if (arguments.mode == MlpMode::replicated) options.placement = nn::BatchPlacement::replicated;
  if (arguments.device_count_invariant && arguments.mode != MlpMode::sharded)
    throw Error(bad_argument("--device-count-invariant is not possible with --mode ", name_of(arguments.mode),
                             ": nothing is summed over devices"));
  const std::pair<const char*, bool> of_all_reduce[] = {
      {"--algorithm", arguments.algorithm != Algorithm::automatic},
      {"--group", arguments.group > 0},
      {"--reduce-dtype", arguments.reduce_dtype != Precision::fp32}};
  for (const auto& [option, given] : of_all_reduce)
    if (given && arguments.mode != MlpMode::sharded)
      throw Error(bad_argument(option, " is not possible with --mode ", name_of(arguments.mode),
                               ": nothing is reduced"));
  set_ranks(options, arguments, take_ranks(arguments, in_one, processes), in_one, processes);
  return options;
}

// Normal random numbers; the same seed gives the same numbers on all devices.
std::vector<float> normal_values(int64_t count, uint64_t seed, uint64_t sequence) {
  Buffer<float> values(count);
  const Stream stream;
  throw_if_error(fill_normal({values.data(), count}, 0, 1, {seed, sequence}, stream));
  stream.synchronize();
  return values.download();
}

struct Timing {
  std::vector<double> seconds;
  double mean() const {
    double sum = 0;
    for (double s : seconds) sum += s;
    return sum / static_cast<double>(seconds.size());
  }
  // Population standard deviation (divides by n).
  double deviation() const {
    double sum = 0;
    for (double s : seconds) sum += (s - mean()) * (s - mean());
    return std::sqrt(sum / static_cast<double>(seconds.size()));
  }
};

// The memory allocated on the devices of the training since the construction.
class MemoryWatch {
 public:
  explicit MemoryWatch(const std::vector<int>& devices) : devices_(devices.begin(), devices.end()) {
    for (int device : devices_) before_.push_back(used(device));
  }
  // The largest increase on a device. This is the peak, because nothing is freed before the end.
  int64_t peak() const {
    int64_t most = 0, i = 0;
    for (int device : devices_) most = std::max(most, used(device) - before_[static_cast<size_t>(i++)]);
    return most;
  }

 private:
  static int64_t used(int device) {
    const DeviceScope scope(device);
    size_t free = 0, total = 0;
    RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
    return static_cast<int64_t>(total - free);
  }
  std::set<int> devices_;
  std::vector<int64_t> before_;
};

std::string in_time(double seconds) {
  return seconds >= 1 ? fixed(seconds, 2) + " s" : fixed(seconds * 1e3, seconds < 0.01 ? 2 : 1) + " ms";
}

double flops_of_a_step(const nn::Graph& graph, int64_t batch) {
  double forward = 0;
  for (const nn::Graph::Node& node : graph.nodes()) forward += node.op->flops();
  return 3 * forward * static_cast<double>(batch);  // backward: once for the weights, once for the inputs
}

// "MLP of 90 layers of width 2056, ..."
std::string network_text(const MlpArguments& arguments, const nn::Graph& graph) {
  return concat("MLP of ", grouped(arguments.layers, "layer"), " of width ", grouped(arguments.width), ", ",
                grouped(arguments.inputs, "input"), ", ", grouped(arguments.outputs, "output"), ": ",
                grouped(graph.parameter_count()), " parameters");
}

// The page's list of settings.
std::vector<std::pair<std::string, std::string>> mlp_facts(const MlpArguments& arguments,
                                                           const nn::DataParallelOptions& options,
                                                           const nn::Graph& graph, ProcessGroup* processes) {
  std::vector<std::pair<std::string, std::string>> list = {{"network", network_text(arguments, graph)}};
  if (processes) list.emplace_back("processes", places_text(*processes));
  for (const std::string& text : device_texts(shown_devices(options))) list.emplace_back("devices", text);
  const std::string mode = name_of(arguments.mode);
  list.emplace_back("parallelism", arguments.mode == MlpMode::sharded
                                       ? concat(mode, ", ", parallelism_text(options))
                                       : mode);
  list.emplace_back("batch", batch_text(options));
  list.emplace_back("precision", name_of(arguments.precision));
  list.emplace_back("optimizer", text(arguments.optimizer));
  list.emplace_back("learning rate", concat(arguments.lr));
  list.emplace_back("weights", concat(arguments.weights, ", seed ", arguments.seed));
  return list;
}

}  // namespace

void train_mlp(const MlpArguments& arguments, std::ostream& to, const Terminal& of_output,
               ProcessGroup* processes) {
  const bool first = !processes || processes->index() == 0;
  std::ostream nowhere(nullptr);
  std::ostream& out = first ? to : nowhere;
  const Terminal terminal = first ? of_output : Terminal();
  const OutputFile json = first ? OutputFile("--json", arguments.json) : OutputFile(),
                   timeline = first ? OutputFile("--trace", arguments.trace) : OutputFile(),
                   page = first ? OutputFile("--html", arguments.html) : OutputFile();
  const nn::DataParallelOptions options = options_for(arguments, processes);
  const nn::AnyModule network =
      nn::mlp(arguments.layers, arguments.width, arguments.outputs, nn::weight_init(arguments.weights));
  const nn::Shape input = {1, 1, arguments.inputs};
  const nn::Graph graph = nn::make_graph(network, input, options.math, options.activations);
  const int64_t in_batch =
      options.batch * (arguments.inputs + arguments.outputs) * static_cast<int64_t>(sizeof(float));
  const int64_t of_replica =
      arguments.mode == MlpMode::sharded
          ? in_batch / (static_cast<int64_t>(options.devices.size()) * (processes ? processes->size() : 1))
          : in_batch;

  TextStream head;  // printed after all checks
  if (processes) show_field(head, terminal, "processes", places_text(*processes));
  show_placement(shown_devices(options), arguments.devices.has_value(), head, terminal);
  show_field(head, terminal, "model", network_text(arguments, graph));
  show_field(head, terminal, "training",
             concat(name_of(arguments.mode), ", batch ", grouped(options.batch), ", ",
                    text(arguments.optimizer), ", learning rate ", arguments.lr, ", squared error, ",
                    arguments.weights, " weights, seed ", arguments.seed,
                    arguments.precision == Precision::fp32 ? "" : concat(", ", name_of(arguments.precision)),
                    arguments.mode == MlpMode::sharded ? concat(", ", all_reduce_text(options)) : "",
                    arguments.device_count_invariant ? ", device-count invariant" : ""));
  nn::MemoryEstimate estimate = nn::estimate_memory(graph, options, size_of(arguments.optimizer));
  estimate.parts.push_back({"the batch", of_replica});
  show_memory(estimate, options.devices, {}, head, terminal);
  if (const std::string note = reduce_dtype_note(options); !note.empty())
    show_field(head, terminal, "", note);
  out << head.str() << std::endl;

  const MemoryWatch memory(options.devices);
  nn::DataParallel model(network, input, options);
  const std::unique_ptr<nn::Optimizer> optimizer = make_optimizer(model, arguments.optimizer, arguments.lr);
  std::vector<VectorView<const float>> parameters;
  for (nn::Replica& replica : model.replicas()) parameters.push_back(replica.parameters());
  const std::pair<const char*, std::string> recipe[] = {
      {"--lr", exact_text(arguments.lr)},
      {"--optimizer", text(arguments.optimizer)},
      {"--momentum", exact_text(arguments.optimizer.momentum)},
      {"--weight-decay", exact_text(arguments.optimizer.weight_decay)},
      {"--weights", arguments.weights},
      {"--layers", exact_text(arguments.layers)},
      {"--width", exact_text(arguments.width)},
      {"--inputs", exact_text(arguments.inputs)},
      {"--outputs", exact_text(arguments.outputs)},
      {"--steps", exact_text(arguments.steps)},
      {"--verify", arguments.verify ? "given" : "not given"},
      {"--trace", arguments.trace.empty() ? "not given" : "given"},
      {"--html", arguments.html.empty() ? "not given" : "given"}};
  for (const auto& [option, value] : recipe) model.world().check_same(option, value);
  std::optional<ReplicaCheck> check;
  if (arguments.verify) check.emplace(model.streams(), parameters, processes);
  std::optional<Trace> trace;
  if (!arguments.trace.empty() || !arguments.html.empty())
    trace.emplace(options.devices);  // in all processes, because it changes how a step runs

  Timing timing;
  std::vector<double> losses;
  const auto take = [&](auto step) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    model.streams().synchronize();
    timing.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    losses.push_back(model.take_loss_stats().loss / static_cast<double>(options.batch * arguments.outputs));
    if (check) check->enqueue();
  };
  {
    const std::vector<float> x = normal_values(options.batch * arguments.inputs, arguments.seed, 1 << 20);
    const std::vector<float> y = normal_values(options.batch * arguments.outputs, arguments.seed, 1 << 21);
    model.set_trace(trace ? &*trace : nullptr);
    take([&] { model.train_step(x, y, *optimizer); });
    model.set_trace(nullptr);
  }
  for (int step = 1; step < kFirstSteps + arguments.steps; ++step)
    take([&] { model.repeat_step(*optimizer); });
  timing.seconds.erase(timing.seconds.begin(), timing.seconds.begin() + kFirstSteps);

  const int64_t peak = memory.peak();
  for (size_t step = 0; step < losses.size(); ++step)
    if (!std::isfinite(losses[step]))
      throw TrainingFailed(concat("the loss of step ", step + 1, " is ", losses[step],
                                  ": the training diverged; a learning rate below ", arguments.lr,
                                  " may help"));
  show_graph_refusal(model.graph_refusal(), out, terminal);
  if (check)
    show_verification(static_cast<int64_t>(losses.size()),
                      model.world().sum(check->differences(), "adding up differences"), out, terminal);
  const double flops = flops_of_a_step(graph, options.batch) / timing.mean();
  show_field(
      out, terminal, "loss",
      concat(losses.front(), " in the first step, ", losses.back(), " in the last of ", losses.size()));
  show_field(
      out, terminal, "a step",
      concat(in_time(timing.mean()), " ± ", in_time(timing.deviation()), " (mean and standard deviation of ",
             timing.seconds.size(), timing.seconds.size() == 1 ? " step), " : " steps), ",
             fixed(flops * 1e-12, flops < 1e12 ? 3 : 1), " TFLOP/s"));
  show_field(out, terminal, "memory", byte_size(peak) + " at most on a device");
  if (json.wanted()) {
    const nlohmann::json all = {
        {"mode", name_of(arguments.mode)},
        {"devices", shown_devices(options)},
        {"ranks", ranks_text(options)},
        {"algorithm", name_of(options.algorithm)},
        {"processes", processes ? processes->size() : 1},
        {"device", describe_device(options.devices[0])},
        {"layers", arguments.layers},
        {"width", arguments.width},
        {"inputs", arguments.inputs},
        {"outputs", arguments.outputs},
        {"batch", options.batch},
        {"weights", arguments.weights},
        {"optimizer", text(arguments.optimizer)},
        {"learning_rate", arguments.lr},
        {"micro_batches", options.micro_batches},
        {"checkpoint_layers", options.checkpoint_layers},
        {"precision", name_of(arguments.precision)},
        {"reduce_dtype", name_of(arguments.reduce_dtype)},
        {"parameters", graph.parameter_count()},
        {"seconds", timing.seconds},
        {"seconds_mean", timing.mean()},
        {"seconds_deviation", timing.deviation()},
        {"flops_per_second", flops},
        {"peak_bytes", peak},
        {"losses", losses},
    };
    json.write(all.dump(2) + "\n");
    out << "wrote " << json.shown() << "\n";
  }
  if (timeline.wanted()) {
    timeline.write(trace_json(trace->collect(), trace->devices()));
    out << "wrote " << timeline.shown() << "\n";
  }
  if (page.wanted()) {
    RunRecord record = {.title = "mlp on random data",
                        .facts = mlp_facts(arguments, options, graph, processes),
                        .state = "done",
                        .step_phases = model.phases(),
                        .memory = memory_of(estimate, options.devices, {}),
                        .peak_bytes = peak};
    for (size_t step = 0; step < losses.size(); ++step) {
      const bool timed = step >= kFirstSteps;
      record.steps.push_back(
          {losses[step], timed ? std::optional(timing.seconds[step - kFirstSteps]) : std::nullopt});
    }
    put_trace(*trace, record);
    page.write(run_page(record));
    out << "wrote " << page.shown() << "\n";
  }
  out << std::flush;
}

}  // namespace rondo::program
