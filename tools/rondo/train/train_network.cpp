#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/text.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/launched.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <rondo/tools/rondo/support/stop_request.h>
#include <rondo/tools/rondo/train/ranks.h>
#include <rondo/tools/rondo/train/trace_json.h>
#include <rondo/tools/rondo/train/train_network.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace rondo::program {

std::unique_ptr<nn::Optimizer> make_optimizer(nn::DataParallel& model, const OptimizerArguments& arguments,
                                              double learning_rate) {
  const auto rate = static_cast<float>(learning_rate);
  if (arguments.kind == OptimizerKind::sgd)
    return std::make_unique<nn::Sgd>(model, nn::SgdOptions{.learning_rate = rate,
                                                           .momentum = arguments.momentum,
                                                           .weight_decay = arguments.weight_decay,
                                                           .nesterov = arguments.nesterov});
  return std::make_unique<nn::Adam>(model,
                                    nn::AdamOptions{.learning_rate = rate,
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

TrainingPlan plan_for(const NetworkArguments& arguments, const FashionMnist& data, ProcessGroup* processes) {
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
  plan.fit.verify = arguments.verify;
  plan.fit.checkpoint = arguments.save;
  plan.model.keep_finite = true;
  plan.steps = (samples + plan.model.batch - 1) / plan.model.batch;
  naming("--warmup-steps", [&] {
    plan.fit.learning_rate.check({plan.steps, plan.steps * arguments.epochs});
  });
  set_ranks(plan.model, arguments, recipe.replicas, processes);
  return plan;
}

namespace {

constexpr const char *kDevices = "--devices", *kAlgorithm = "--algorithm", *kWeights = "--weights",
                     *kPrecision = "--precision", *kReduceDtype = "--reduce-dtype";

// All settings that determine the bits of the training, except for those that the command never changes.
std::map<std::string, std::string> recipe_of(const TrainingPlan& plan, const NetworkArguments& arguments,
                                             const FashionMnist& data) {
  const auto flag = [](bool on) { return on ? "on" : "off"; };
  const auto stored = [](const char* name, const std::vector<uint8_t>& values) {
    return StoredTensor{
        name, StoredType::u8, {static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values))};
  };
  const OptimizerArguments& optimizer = arguments.optimizer;
  std::map<std::string, std::string> recipe = {
      {kDevices, ranks_text(plan.model)},
      {kAlgorithm, name_of(plan.model.algorithm)},
      {kWeights, arguments.weights},
      {"--batch", exact_text(plan.model.batch)},
      {"--data",
       concat(data.train_count, " images with the checksum ",
              checksum(std::vector{stored("images", data.train_images), stored("labels", data.train_labels)},
                       {}))},
      {"--no-sync-bn", flag(arguments.no_sync_bn)},
      {"--lr", exact_text(plan.rate)},
      {"--micro-batches", exact_text(arguments.micro_batches)},
      {"--momentum", exact_text(optimizer.momentum)},
      {"--nesterov", flag(optimizer.nesterov)},
      {"--optimizer", name_of(optimizer.kind)},
      {kPrecision, name_of(arguments.precision)},
      {kReduceDtype, name_of(arguments.reduce_dtype)},
      {"--schedule", arguments.schedule},
      {"--seed", exact_text(arguments.seed)},
      {"--warmup-steps", exact_text(arguments.warmup)},
      {"--weight-decay", exact_text(optimizer.weight_decay)}};
  if (arguments.schedule.starts_with("cosine")) recipe["--epochs"] = exact_text(arguments.epochs);
  return recipe;
}

std::string recipe(const TrainingPlan& plan, const NetworkArguments& arguments) {
  std::string said = concat("batch ", grouped(plan.model.batch), ", ", text(arguments.optimizer),
                            ", learning rate ", plan.rate);
  if (arguments.schedule != "constant") said += " (" + arguments.schedule + ")";
  if (arguments.warmup > 0) said += concat(", warm-up of ", grouped(arguments.warmup, "step"));
  said += concat(", ", plan.fit.from.recipe.at(kWeights), " weights, seed ", plan.model.seed);
  if (plan.model.devices.size() > 1 || plan.model.processes)
    said += concat(", ", all_reduce_text(plan.model),
                   plan.model.order == SumOrder::balanced_tree ? ", device-count invariant" : "",
                   plan.model.sync_batch_norm ? "" : ", local batch-norm statistics");
  if (arguments.precision != Precision::fp32) said += concat(", ", name_of(arguments.precision));
  if (plan.model.micro_batches > 1) said += concat(", ", grouped(plan.model.micro_batches), " micro-batches");
  if (plan.model.checkpoint_layers > 0)
    said += concat(", activations kept every ", counted(plan.model.checkpoint_layers, "operation"));
  return said;
}

class RunObserver final : public nn::FitObserver {
 public:
  explicit RunObserver(RunCallbacks run) : run_(std::move(run)) {}
  void on_progress(const TrainingProgress& progress) override { run_.show(progress); }
  // Throws before a diverged model replaces a usable checkpoint.
  void before_save(const EpochReport& report) override { run_.show_if_diverged(report); }
  void on_epoch(const EpochReport& report) override { run_.show(report); }
  bool stop() override {
    began_ = true;
    return StopRequest::signal() != 0;
  }
  // Whether a step was taken.
  bool began() const { return began_; }

 private:
  RunCallbacks run_;
  bool began_ = false;
};

// Throws a bad_argument Error if this training would not continue the checkpoint's. The message names all
// differing options, except for defaults that differ because of another option: the batch, the devices or the
// schedule.
void check_goes_on(const nn::TrainingState& state, const TrainingPlan& plan,
                   const NetworkArguments& arguments) {
  const std::map<std::string, std::string>& ours = plan.fit.from.recipe;
  std::map<std::string, std::string> theirs = state.recipe;
  for (const char* option : {kPrecision, kReduceDtype})
    theirs.emplace(option, name_of(Precision::fp32));  // checkpoints of versions that had no other
  const auto differs = [&](const std::string& option) { return ours.at(option) != theirs.at(option); };
  const std::set<std::string> may_differ = {kDevices, kAlgorithm, kWeights};
  for (const auto& [option, value] : ours)
    if (!theirs.contains(option) && option != "--epochs")
      throw Error(bad_argument("it was not made by rondo train ", arguments.model, ": it has no ", option));
  std::string different;
  for (const auto& [option, value] : ours) {
    if (!theirs.contains(option) || !differs(option) || may_differ.contains(option)) continue;
    if (option == "--lr" && !arguments.lr && differs("--batch")) continue;
    const bool follows = option == "--batch" && !arguments.batch && differs(kDevices);
    different +=
        concat(different.empty() ? "" : "; ", option, " is ", value,
               follows ? concat(" with --devices ", ours.at(kDevices)) : "", ", must be ", theirs.at(option));
  }
  if (!different.empty())
    throw Error(bad_argument("the options differ from those of its training: ", different));
  if (state.epoch < 1 || state.step >= plan.steps)
    throw Error(bad_argument("it continues in epoch ", state.epoch, " after ", counted(state.step, "step"),
                             ", must be an epoch from 1 and fewer than ", counted(plan.steps, "step")));
  if (state.epoch > plan.fit.epochs)
    throw Error(
        bad_argument("--epochs is ", plan.fit.epochs, ", must be more: it has ", state.epoch - 1, " done"));
}

// Prints the permitted differences, one per line.
void show_differences(const std::map<std::string, std::string>& ours,
                      const std::map<std::string, std::string>& theirs, std::ostream& out,
                      const Terminal& terminal) {
  const auto differs = [&](const std::string& option) { return ours.at(option) != theirs.at(option); };
  constexpr const char* kOtherSums = ": from now on sums are added in another order";
  const bool counts = (ours.at(kDevices) + theirs.at(kDevices)).find(' ') == std::string::npos;
  const auto ranks = [](const std::string& text) {
    return (text.find(' ') == std::string::npos ? "--devices " : "sums over ") + text;
  };
  if (differs(kDevices))
    show_field(out, terminal, "",
               concat("with ", ranks(ours.at(kDevices)), ", the checkpoint was made with ",
                      counts ? theirs.at(kDevices) : ranks(theirs.at(kDevices)), kOtherSums));
  else if (differs(kAlgorithm) && ours.at(kDevices) != "1")
    show_field(out, terminal, "",
               concat("with --algorithm ", ours.at(kAlgorithm), ", the checkpoint was made with ",
                      theirs.at(kAlgorithm), kOtherSums));
  if (differs(kWeights))
    show_field(out, terminal, "",
               concat("--weights ", ours.at(kWeights), " has no effect: the training began with ",
                      theirs.at(kWeights)));
}

// Runs in every process; only the first one has files and output.
int train_and_show(const NetworkArguments& arguments, const TrainingFiles& files,
                   const OutputFile& checkpoint, std::ostream& out, const Terminal& terminal,
                   ProcessGroup* processes) {
  std::error_code ignored;
  const std::string resumed =
      arguments.resume.empty()
          ? ""
          : std::filesystem::weakly_canonical(std::filesystem::absolute(arguments.resume), ignored).string();
  for (const OutputFile* file : {&files.log, &files.plot, &files.trace})
    if (file->wanted() && file->target() == resumed)
      throw Error(
          bad_argument("--resume '", arguments.resume, "' is the file of another output, must be another"));
  check_options(arguments, processes);
  const FashionMnist data = load_images(arguments);
  TrainingPlan plan = plan_for(arguments, data, processes);
  const nn::NamedModel network = nn::model(arguments.model, nn::weight_init(arguments.weights));
  const nn::Graph graph =
      nn::make_graph(network.network, network.input, plan.model.math, plan.model.activations);
  const std::string links = use_links(plan.model);
  plan.fit.from.recipe = recipe_of(plan, arguments, data);
  TextStream head;  // printed after all checks
  if (processes) show_field(head, terminal, "processes", places_text(*processes));
  show_placement(shown_devices(plan.model), arguments.devices.has_value(), head, terminal);
  show_images(data, arguments.limit.has_value(), head, terminal);
  show_field(head, terminal, "model",
             concat(arguments.model, ", ", grouped(graph.parameter_count()), " parameters (rondo summary ",
                    arguments.model, " shows them)"));
  if (!links.empty()) show_field(head, terminal, "links", links);
  if (const std::string note = reduce_dtype_note(plan.model); !note.empty())
    show_field(head, terminal, "", note);

  const int64_t images = static_cast<int64_t>(data.train_images.size() + data.test_images.size() +
                                              data.train_labels.size() + data.test_labels.size());
  show_memory(nn::estimate_memory(graph, plan.model, size_of(arguments.optimizer)), plan.model.devices,
              {{"images and their order", images + data.train_count * static_cast<int64_t>(sizeof(int32_t))}},
              head, terminal);
  nn::DataParallel model(network.network, network.input, plan.model);
  const std::unique_ptr<nn::Optimizer> optimizer = make_optimizer(model, arguments.optimizer, plan.rate);
  for (const auto& [option, value] : plan.fit.from.recipe) model.world().check_same(option, value);
  if (!arguments.resume.empty()) {
    const nn::TrainingState state =
        nn::load_checkpoint(arguments.resume, model, *optimizer,
                            [&](const nn::TrainingState& there) { check_goes_on(there, plan, arguments); });
    const std::map<std::string, std::string> asked = std::exchange(plan.fit.from, state).recipe;
    plan.fit.from.recipe = asked;
    plan.fit.from.recipe.at(kWeights) = state.recipe.at(kWeights);  // the weights of the beginning
    show_field(head, terminal, "resumed",
               concat(arguments.resume, ": epoch ", grouped(plan.fit.from.epoch), ", ",
                      grouped(plan.fit.from.step), " of its steps are done"));
    show_differences(asked, state.recipe, head, terminal);
  }
  show_field(head, terminal, "training",
             concat(grouped(plan.fit.epochs), plan.fit.epochs == 1 ? " epoch of " : " epochs of ",
                    grouped(plan.steps), plan.steps == 1 ? " step, " : " steps, ", recipe(plan, arguments)));
  out << head.str() << std::endl;

  std::optional<Trace> trace;
  if (!arguments.trace.empty())
    trace.emplace(plan.model.devices);  // in all processes, because it changes how a step runs
  const StopRequest stop_request;
  nn::FitResult result;
  {
    Display display(out, terminal, arguments.epochs);
    display.show(TrainingProgress{.epoch = 1, .samples = data.train_count});
    const RunTitle title = {arguments.model + (data.authentic ? " on Fashion-MNIST" : ""),
                            recipe(plan, arguments) + " on " + device_list(shown_devices(plan.model))};
    RunCallbacks run(display, files, title, plan.rate);
    if (!arguments.resume.empty()) run.continue_log(plan.fit.from.epoch);
    RunObserver observer(std::move(run));
    try {
      result = nn::fit(model, *optimizer, data, plan.fit, observer, trace ? &*trace : nullptr);
    } catch (const Error& error) {
      // An error after the first step is a failure, not an invalid argument.
      if (observer.began()) throw TrainingFailed(error.what());
      throw;
    }
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
