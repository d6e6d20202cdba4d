#include <rondo/kernels/core/status.h>
#include <rondo/nn/graph/graph.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/train/ranks.h>
#include <rondo/tools/rondo/train/train_from_scratch.h>
#include <rondo/tools/rondo/train/train_network.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <chrono>
#include <utility>
#include <vector>

namespace rondo::program {
namespace {

void refuse_what_the_lesson_lacks(const NetworkArguments& a, const ProcessGroup* processes) {
  const NetworkArguments none;
  const std::pair<const char*, bool> given[] = {
      {"--checkpoint-layers", a.checkpoint_layers != none.checkpoint_layers},
      {"--classes", a.classes.has_value()},
      {"--crop", a.crop != none.crop},
      {"--device-count-invariant", a.device_count_invariant},
      {"--erase", a.erase != none.erase},
      {"--flip", a.flip},
      {"--from", !a.from.empty()},
      {"--group", a.group != none.group},
      {"--mean", !a.mean.empty()},
      {"--micro-batches", a.micro_batches != none.micro_batches},
      {"--momentum", a.optimizer.momentum != none.optimizer.momentum},
      {"--nesterov", a.optimizer.nesterov},
      {"--normalize", a.normalize},
      {"--precision", a.precision != none.precision},
      {"--optimizer", a.optimizer.kind != none.optimizer.kind},
      {"--reduce-dtype", a.reduce_dtype != none.reduce_dtype},
      {"--resume", !a.resume.empty()},
      {"--save", !a.save.empty()},
      {"--schedule", a.schedule != none.schedule},
      {"--timeout", a.timeout != none.timeout},
      {"--trace", !a.trace.empty()},
      {"--verify", a.verify},
      {"--warmup-steps", a.warmup != none.warmup},
      {"--weight-decay", a.optimizer.weight_decay != none.optimizer.weight_decay},
      {"--weights", a.weights != none.weights},
  };
  for (const auto& [option, is_given] : given)
    if (is_given)
      throw Error(
          bad_argument(option, " is not possible with --from-scratch: the lesson does not support it"));
  if (processes)
    throw Error(bad_argument("--from-scratch is for one process, ", processes->size(), " were started"));
}

// Prints the run. To report progress, it waits for the first replica's stream kLooksPerEpoch times per epoch.
class LessonView final : public lenet::Observer {
 public:
  LessonView(RunCallbacks& run, int64_t samples, int64_t batch)
      : run_(run), samples_(samples), batch_(batch), every_(std::max(batch, samples / kLooksPerEpoch)) {}

  void after_step(int64_t epoch, int64_t samples, std::span<const lenet::Replica> replicas) override {
    if (epoch != epoch_) {
      epoch_ = epoch, next_ = every_, begin_ = std::chrono::steady_clock::now();
      before_ = {};
    }
    if (samples < next_) return;
    next_ += every_;
    RONDO_CUDA_THROW(cudaStreamSynchronize(replicas[0].stream));
    LossStats now;
    for (const lenet::Replica& replica : replicas) now += replica.loss_stats.download()[0];
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    run_.show(TrainingProgress{epoch, samples, samples_, now.loss / static_cast<double>(samples),
                               took.count(), (samples + batch_ - 1) / batch_, mean_loss_since(before_, now)});
    before_ = now;
  }
  void after_epoch(const EpochReport& report) override { run_.show(report); }

 private:
  static constexpr int64_t kLooksPerEpoch = 20;
  RunCallbacks& run_;
  int64_t samples_, batch_, every_, epoch_ = 0, next_ = 0;
  LossStats before_;  // at the previous look of the epoch
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

void train_from_scratch(const NetworkArguments& arguments, std::ostream& out, const Terminal& terminal,
                        const ProcessGroup* processes) {
  refuse_what_the_lesson_lacks(arguments, processes);
  const TrainingFiles files(arguments);
  check_options(arguments, nullptr);
  std::vector<int> devices = take_ranks(arguments, arguments.recipe.replicas, nullptr);
  const FashionMnist data = load_fashion_mnist_images(arguments);
  files.check_are_not(data);
  const TrainingPlan plan = plan_for(arguments, data, std::move(devices), nullptr);
  const lenet::Options options = {.devices = plan.model.devices,
                                  .batch_size = plan.model.batch,
                                  .lr = static_cast<float>(plan.rate),
                                  .epochs = arguments.epochs,
                                  .seed = arguments.seed,
                                  .algorithm = plan.model.algorithm};
  const std::string recipe =
      concat("batch ", grouped(options.batch_size), ", learning rate ", options.lr, ", seed ", options.seed,
             ", ", name_of(options.algorithm), " all-reduce, from scratch");
  show_placement(options.devices, arguments.devices.has_value(), out, terminal);
  show_field(out, terminal, "data", images_text(data, arguments.limit.has_value()));
  const nn::NamedModel network = nn::model(arguments.model, nn::weight_init(arguments.weights));
  const nn::Graph graph = nn::make_graph(network.network, network.input);
  show_field(out, terminal, "model", model_text(arguments.model, graph, data));
  show_field(out, terminal, "training",
             concat(grouped(options.epochs), options.epochs == 1 ? " epoch of " : " epochs of ",
                    grouped(plan.steps), plan.steps == 1 ? " step, " : " steps, ", recipe));
  out << std::endl;
  lenet::Result result;
  {
    Display display(out, terminal, arguments.epochs);
    display.show(TrainingProgress{.epoch = 1, .samples = data.train_count});
    const RunTitle title = {"LeNet" + std::string(data.authentic ? " on Fashion-MNIST" : ""),
                            recipe + " on " + device_list(options.devices)};
    RunRecord record = {.title = title.title,
                        .facts = {{"network", concat("LeNet, from scratch, ",
                                                     grouped(graph.parameter_count()), " parameters")},
                                  {"data", images_text(data, arguments.limit.has_value())}},
                        .epochs_planned = options.epochs,
                        .steps_per_epoch = plan.steps,
                        .losses = LossCurve(plan.steps),
                        .no_phases = "The lesson does not measure the phases of a step.",
                        .no_memory = "The lesson does not compute its memory.",
                        .no_trace = "The lesson records no timeline."};
    for (const std::string& text : device_texts(options.devices)) record.facts.emplace_back("devices", text);
    for (const auto& [label, text] : {std::pair("parallelism", parallelism_text(plan.model)),
                                      {"batch", grouped(options.batch_size)},
                                      {"precision", name_of(arguments.precision)},
                                      {"optimizer", "sgd"},
                                      {"learning rate", concat(options.lr)},
                                      {"weights", concat("normal, seed ", options.seed)}})
      record.facts.emplace_back(label, text);
    RunCallbacks run(display, files, title, plan.rate, record, nullptr);
    LessonView view(run, data.train_count, options.batch_size);
    result = lenet::train(data, options, view);
    run.write_page("done");
  }
  out << "\n";
  show_graph_refusal(result.graph_refusal, out, terminal);
  show_written(files, out);
  out << inked(terminal, Ink::bold, last_line(result.epochs, options.devices)) << std::endl;
}

}  // namespace rondo::program
