#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/text.h>
#include <rondo/nn/checkpoint/state_dict.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/launched.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <rondo/tools/rondo/support/stop_request.h>
#include <rondo/tools/rondo/train/ranks.h>
#include <rondo/tools/rondo/train/settings.h>
#include <rondo/tools/rondo/train/trace_json.h>
#include <rondo/tools/rondo/train/train_network.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace rondo::program {

std::unique_ptr<nn::Optimizer> make_optimizer(nn::DataParallel& model, const OptimizerArguments& arguments,
                                              double learning_rate) {
  const auto rate = static_cast<float>(learning_rate);
  if (arguments.kind == OptimizerKind::sgd)
    return std::make_unique<nn::Sgd>(model, nn::Sgd::Options{.learning_rate = rate,
                                                             .momentum = arguments.momentum,
                                                             .weight_decay = arguments.weight_decay,
                                                             .nesterov = arguments.nesterov});
  return std::make_unique<nn::Adam>(model,
                                    nn::Adam::Options{.learning_rate = rate,
                                                      .weight_decay = arguments.weight_decay,
                                                      .decoupled = arguments.kind == OptimizerKind::adamw});
}

nn::OptimizerSize size_of(const OptimizerArguments& arguments) {
  return arguments.kind == OptimizerKind::sgd ? nn::Sgd::size(arguments.momentum) : nn::Adam::kSize;
}

std::string text(const OptimizerArguments& arguments) {
  std::string text = name_of(arguments.kind);
  if (arguments.momentum > 0)
    text += concat(", ", arguments.nesterov ? "Nesterov's " : "", "momentum ", arguments.momentum);
  if (arguments.weight_decay > 0) text += concat(", weight decay ", arguments.weight_decay);
  return text;
}

namespace {

Error too_many_micro_batches(const NetworkArguments& arguments, int64_t batch) {
  return Error(bad_argument("--micro-batches is ", arguments.micro_batches, ", must be at most ", batch,
                            ", the batch"));
}

}  // namespace

void check_options(const NetworkArguments& arguments, const ProcessGroup* processes) {
  check_ranks(arguments, arguments.recipe.replicas, processes);
  const int64_t replicas = replicas_for(arguments, arguments.recipe.replicas, processes);
  if (arguments.batch && *arguments.batch < replicas)
    throw Error(bad_argument("--batch is ", *arguments.batch, ": it must be at least ", replicas,
                             ", one sample for each of the ", counted(replicas, "replica"), " of --devices"));
  if (arguments.batch && arguments.micro_batches > *arguments.batch)
    throw too_many_micro_batches(arguments, *arguments.batch);
  if (processes && arguments.no_sync_bn && !arguments.save.empty())
    throw Error(bad_argument(
        "--save is not possible with --no-sync-bn in ", counted(processes->size(), "process", "processes"),
        ": each replica has its own statistics, and a checkpoint holds those of one process"));
}

namespace {

// "--crop and --erase": the options of augmentation that are given.
std::string augmentation_options(const NetworkArguments& arguments) {
  std::string options;
  for (const auto& [name, given] : {std::pair("--crop", arguments.crop != 0),
                                    {"--flip", arguments.flip},
                                    {"--erase", arguments.erase != 0}})
    if (given) options += (options.empty() ? "" : " and ") + std::string(name);
  return options;
}

}  // namespace

TrainingPlan plan_for(const NetworkArguments& arguments, const IdxDataSet& data, std::vector<int> devices,
                      ProcessGroup* processes) {
  const std::string why =
      arguments.limit ? concat(" (--limit ", *arguments.limit, ")") : std::string(" in the training data");
  const Recipe& recipe = arguments.recipe;
  const int64_t replicas = replicas_for(arguments, recipe.replicas, processes);
  const int64_t samples = data.train_count;
  if (replicas > samples)
    throw Error(
        bad_argument("--devices asks for ", counted(replicas, "replica"),
                     processes ? concat(" in ", counted(processes->size(), "process", "processes")) : "",
                     arguments.devices ? "" : " when it is not given", ", must be at most ", samples,
                     ", the number of samples", why));
  if (arguments.batch && *arguments.batch > samples)
    throw Error(bad_argument("--batch is ", *arguments.batch, ", must be at most ", samples,
                             ", the number of samples", why));
  TrainingPlan plan;
  const int64_t batch = recipe.batch * (recipe.for_each_replica ? replicas : 1);
  plan.model.batch = std::min(arguments.batch.value_or(batch), samples);
  if (arguments.micro_batches > plan.model.batch) throw too_many_micro_batches(arguments, plan.model.batch);
  plan.model.seed = arguments.seed;
  plan.model.sync_batch_norm = !arguments.no_sync_bn;
  plan.model.micro_batches = arguments.micro_batches;
  plan.model.checkpoint_layers = arguments.checkpoint_layers;
  plan.rate =
      known_rate(arguments).value_or(nn::scaled_to_batch(recipe.rate, plan.model.batch, recipe.batch));
  plan.fit.epochs = arguments.epochs;
  plan.fit.seed = arguments.seed;
  plan.fit.learning_rate = naming(
      "--schedule", [&] { return nn::parse_learning_rate(arguments.schedule, plan.rate, arguments.warmup); });
  plan.fit.augmentation = {
      .padding = arguments.crop, .flip = arguments.flip ? 0.5f : 0, .erase = arguments.erase};
  check_augments(augmentation_options(arguments).c_str(), plan.fit.augmentation, data.image);
  plan.fit.normalize = {arguments.mean, arguments.stddev};
  if (arguments.normalize)
    plan.fit.normalize = naming("--normalize", [&] { return nn::normalize_of(nn::DataSet(data).train); });
  nn::check_normalize("--mean and --std", plan.fit.normalize, data.image.channels);
  plan.fit.verify = arguments.verify;
  plan.fit.checkpoint = arguments.save;
  plan.model.keep_finite = true;
  plan.steps = (samples + plan.model.batch - 1) / plan.model.batch;
  naming("--warmup-steps", [&] {
    plan.fit.learning_rate.check({plan.steps, plan.steps * arguments.epochs});
  });
  set_ranks(plan.model, arguments, std::move(devices), recipe.replicas, processes);
  return plan;
}

namespace {

std::string recipe(const TrainingPlan& plan, const NetworkArguments& arguments) {
  std::string said = concat("batch ", grouped(plan.model.batch), ", ", text(arguments.optimizer),
                            ", learning rate ", plan.rate);
  if (arguments.schedule != "constant") said += " (" + arguments.schedule + ")";
  if (arguments.warmup > 0) said += concat(", warm-up of ", grouped(arguments.warmup, "step"));
  said += concat(", ", plan.fit.from.recipe.at("weights"), " weights, seed ", plan.model.seed);
  if (plan.model.devices.size() > 1 || plan.model.processes)
    said += concat(", ", all_reduce_text(plan.model),
                   plan.model.order == SumOrder::balanced_tree ? ", device-count invariant" : "",
                   plan.model.sync_batch_norm ? "" : ", local batch-norm statistics");
  if (arguments.precision != Precision::fp32) said += concat(", ", name_of(arguments.precision));
  if (arguments.crop > 0) said += concat(", crop ", arguments.crop);
  if (arguments.flip) said += ", flip";
  if (arguments.erase > 0) said += concat(", erase ", arguments.erase);
  if (!plan.fit.normalize.mean.empty()) said += ", normalised";
  if (plan.model.micro_batches > 1) said += concat(", ", grouped(plan.model.micro_batches), " micro-batches");
  if (plan.model.checkpoint_layers > 0)
    said += concat(", activations kept every ", counted(plan.model.checkpoint_layers, "operation"));
  return said;
}

// The page's list of settings.
std::vector<std::pair<std::string, std::string>> facts(const TrainingPlan& plan,
                                                       const NetworkArguments& arguments,
                                                       const IdxDataSet& data, const nn::Graph& graph,
                                                       ProcessGroup* processes) {
  const nn::DataParallelOptions& model = plan.model;
  std::vector<std::pair<std::string, std::string>> list = {
      {"network", concat(arguments.model, ", ", grouped(graph.parameter_count()), " parameters")},
      {"data", images_text(data, arguments.limit.has_value())}};
  if (processes) list.emplace_back("processes", places_text(*processes));
  for (const std::string& text : device_texts(shown_devices(model))) list.emplace_back("devices", text);
  list.emplace_back("parallelism", parallelism_text(model));
  list.emplace_back("batch", batch_text(model));
  list.emplace_back("precision", name_of(arguments.precision));
  list.emplace_back("optimizer", text(arguments.optimizer));
  list.emplace_back(
      "learning rate",
      concat(plan.rate, arguments.schedule == "constant" ? "" : " (" + arguments.schedule + ")",
             arguments.warmup > 0 ? concat(", warm-up of ", grouped(arguments.warmup, "step")) : ""));
  list.emplace_back("weights", concat(plan.fit.from.recipe.at("weights"), ", seed ", model.seed));
  list.emplace_back("training", recipe(plan, arguments));
  return list;
}

class RunObserver final : public nn::FitObserver {
 public:
  explicit RunObserver(RunCallbacks& run) : run_(run) {}
  void on_progress(const TrainingProgress& progress) override { run_.show(progress); }
  // Throws before a diverged model replaces a usable checkpoint.
  void before_save(const EpochReport& report) override { run_.before_save(report); }
  void on_epoch(const EpochReport& report) override { run_.show(report); }
  bool stop() override {
    began_ = true;
    return StopRequest::signal() != 0;
  }
  // Whether a step was taken.
  bool began() const { return began_; }

 private:
  RunCallbacks& run_;
  bool began_ = false;
};

// Runs in every process; only the first one has files and output.
int train_and_show(const NetworkArguments& arguments, const TrainingFiles& files,
                   const OutputFile& checkpoint, std::ostream& out, const Terminal& terminal,
                   ProcessGroup* processes) {
  for (const OutputFile* file : files.all()) {
    file->check_is_not("the file of --resume", arguments.resume);
    file->check_is_not("the file of --from", arguments.from);
    file->check_is_not("the file of --names", arguments.names);
  }
  checkpoint.check_is_not("the file of --names", arguments.names);  // it may replace the other two
  check_options(arguments, processes);
  // Before the data set, which takes longer.
  std::vector<int> devices = take_ranks(arguments, arguments.recipe.replicas, processes);
  const IdxDataSet data = load_images(arguments);
  files.check_are_not(data);
  for (const IdxDataSet::File& file : data.files) checkpoint.check_is_not(kFileOfData, file.path);
  TrainingPlan plan = plan_for(arguments, data, std::move(devices), processes);
  const nn::NamedModel network =
      model_for(arguments.model, images_of(data), nn::weight_init(arguments.weights));
  const nn::Graph graph =
      nn::make_graph(network.network, network.input, plan.model.math, plan.model.activations);
  const std::string links = use_links(plan.model);
  plan.fit.from.recipe = settings_of(plan, arguments, data);
  TextStream head;  // printed after all checks
  if (processes) show_field(head, terminal, "processes", places_text(*processes));
  show_placement(shown_devices(plan.model), arguments.devices.has_value(), head, terminal);
  show_field(head, terminal, "data", images_text(data, arguments.limit.has_value()));
  show_field(head, terminal, "model", model_text(arguments.model, graph, data));
  if (!links.empty()) show_field(head, terminal, "links", links);
  if (const std::string note = reduce_dtype_note(plan.model); !note.empty())
    show_field(head, terminal, "", note);

  nn::MemoryEstimate estimate = nn::estimate_memory(graph, plan.model, size_of(arguments.optimizer));
  estimate.parts.push_back({"order of the images", nn::ShuffledBatches::bytes_of_replica(data.train_count)});
  const std::vector<nn::MemoryPart> shared = {
      {"images", nn::DeviceImages::bytes_on_device(data.train_count, network.input) +
                     nn::DeviceImages::bytes_on_device(data.test_count, network.input)}};
  show_memory(estimate, plan.model.devices, shared, head, terminal);
  nn::DataParallel model(network.network, network.input, plan.model);
  const std::unique_ptr<nn::Optimizer> optimizer = make_optimizer(model, arguments.optimizer, plan.rate);
  check_same_settings(model.world(), plan.fit.from.recipe);
  if (!arguments.from.empty()) {
    nn::load_weights(
        arguments.from, model,
        arguments.names.empty() ? nn::StateDictNames() : nn::read_state_dict_names(arguments.names));
    show_field(head, terminal, "from", arguments.from);
  }
  if (!arguments.resume.empty()) {
    const nn::TrainingState state =
        nn::load_checkpoint(arguments.resume, model, *optimizer,
                            [&](const nn::TrainingState& there) { check_goes_on(there, plan, arguments); });
    const Settings asked = std::exchange(plan.fit.from, state).recipe, theirs = settings_in(state);
    plan.fit.from.recipe = asked;
    plan.fit.from.recipe.at("weights") = theirs.at("weights");  // those of the beginning
    show_field(head, terminal, "resumed",
               concat(arguments.resume, ": epoch ", grouped(plan.fit.from.epoch), ", ",
                      grouped(plan.fit.from.step), " of its steps are done"));
    show_differences(asked, theirs, head, terminal);
  }
  show_field(head, terminal, "training",
             concat(grouped(plan.fit.epochs), plan.fit.epochs == 1 ? " epoch of " : " epochs of ",
                    grouped(plan.steps), plan.steps == 1 ? " step, " : " steps, ", recipe(plan, arguments)));
  out << head.str() << std::endl;

  std::optional<Trace> trace;
  if (!arguments.trace.empty() || !arguments.html.empty())
    trace.emplace(plan.model.devices);  // in all processes, because it changes how a step runs
  const StopRequest stop_request;
  nn::FitResult result;
  {
    Display display(out, terminal, arguments.epochs);
    display.show(TrainingProgress{.epoch = 1, .samples = data.train_count});
    const RunTitle title = {arguments.model + (is_fashion_mnist(data) ? " on Fashion-MNIST" : ""),
                            recipe(plan, arguments) + " on " + device_list(shown_devices(plan.model))};
    const RunRecord record = {.title = title.title,
                              .facts = facts(plan, arguments, data, graph, processes),
                              .epochs_planned = plan.fit.epochs,
                              .steps_per_epoch = plan.steps,
                              .losses = LossCurve(plan.steps),
                              .memory = memory_of(estimate, plan.model.devices, shared)};
    RunCallbacks run(display, files, title, plan.rate, record, trace ? &*trace : nullptr);
    if (!arguments.resume.empty()) run.continue_log(plan.fit.from.epoch);
    RunObserver observer(run);
    try {
      result = nn::fit(model, *optimizer, data, plan.fit, observer, trace ? &*trace : nullptr);
    } catch (const Error& error) {
      // An error after the first step is a failure, not an invalid argument.
      if (!observer.began()) throw;
      run.write_page("failed", error.what());
      throw TrainingFailed(error.what());
    }
    run.write_page(result.end == nn::FitResult::End::diverged  ? "failed"
                   : result.end == nn::FitResult::End::stopped ? "stopped"
                                                               : "done",
                   result.reason);
  }
  out << "\n";
  if (result.end == nn::FitResult::End::diverged)
    throw TrainingFailed(concat(result.reason, "; a learning rate below ", plan.rate, " may help"));
  show_graph_refusal(model.graph_refusal(), out, terminal);
  if (plan.fit.verify) show_verification(result.verified_steps, result.differing_values, out, terminal);
  if (files.trace.wanted()) files.trace.write(trace_json(trace->collect(), trace->devices()));
  show_written(files, out);
  if (checkpoint.wanted()) out << "wrote " << checkpoint.shown() << "\n";
  if (result.end == nn::FitResult::End::stopped) {
    out << inked(
               terminal, Ink::bold,
               concat("stopped in epoch ", result.state.epoch, " after ", grouped(result.state.step, "step"),
                      checkpoint.wanted() ? "; continue with --resume " + checkpoint.shown() : ""))
        << std::endl;
    return StopRequest::signal();
  }
  out << inked(terminal, Ink::bold, last_line(result.epochs, shown_devices(plan.model)))
      << (processes ? concat(" in each of ", counted(processes->size(), "process", "processes")) : "")
      << std::endl;
  return 0;
}

}  // namespace

int train_network(const NetworkArguments& arguments, std::ostream& out, const Terminal& terminal,
                  ProcessGroup* processes) {
  if (!processes || processes->index() == 0)
    return train_and_show(arguments, TrainingFiles(arguments), OutputFile("--save", arguments.save), out,
                          terminal, processes);
  std::ostream nowhere(nullptr);
  return train_and_show(arguments, TrainingFiles(), OutputFile(), nowhere, {}, processes);
}

}  // namespace rondo::program
