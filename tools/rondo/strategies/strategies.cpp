#include <rondo/tools/rondo/strategies/strategies.h>

#include <rondo/kernels/random/random.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/strategies/stage_split.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

namespace rondo::program {
namespace {

// Samples in host memory, in batches.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual nn::Batch batch(int step) const = 0;
};

class Images : public Samples {
 public:
  Images(const FashionMnist& data, int64_t batch) : batch_(batch), batches_(data.train_count / batch) {
    const auto samples = static_cast<size_t>(batches_ * batch);
    for (size_t i = 0; i < samples * FashionMnist::kImageBytes; ++i)
      x_.push_back(static_cast<float>(data.train_images[i]) / 255.0f);
    labels_.assign(data.train_labels.begin(), data.train_labels.begin() + static_cast<int64_t>(samples));
  }
  nn::Batch batch(int step) const override {
    const auto first = static_cast<size_t>(step % batches_ * batch_), size = static_cast<size_t>(batch_);
    constexpr size_t kImage = FashionMnist::kImageBytes;
    return {
        std::span(x_).subspan(first * kImage, size * kImage), std::span(labels_).subspan(first, size), {}};
  }

 private:
  int64_t batch_, batches_;
  std::vector<float> x_;
  std::vector<int32_t> labels_;
};

// Random sequences of the parameters count from 0; these do not overlap them.
constexpr uint64_t kInputs = uint64_t{1} << 32, kTargets = kInputs + 1;

// One batch of random numbers from N(0, 1), the same in every step.
class Numbers : public Samples {
 public:
  Numbers(int64_t batch, int64_t inputs, int64_t outputs, uint64_t seed, int device)
      : x_(made(batch * inputs, {seed, kInputs}, device)),
        targets_(made(batch * outputs, {seed, kTargets}, device)) {}
  nn::Batch batch(int) const override { return {x_, {}, targets_}; }

 private:
  static std::vector<float> made(int64_t size, RandomStream random, int device) {
    const DeviceScope scope(device);
    Buffer<float> values(size);
    const Stream stream;
    throw_if_error(fill_normal({values.data(), size}, 0, 1, random, stream));
    stream.synchronize();
    return values.download();
  }
  std::vector<float> x_, targets_;
};

nn::NamedModel model_of(const StrategiesArguments& arguments) {
  nn::NamedModel model = nn::model(arguments.model);
  if (arguments.model == "mlp")
    model.network = nn::mlp(arguments.layers.value_or(StrategiesArguments::kLayers),
                            arguments.width.value_or(StrategiesArguments::kWidth));
  return model;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void wait_for(const std::vector<int>& devices) {
  for (int device : devices) {
    const DeviceScope scope(device);
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
  }
}

// Times every step separately, from the batch in host memory to the last device's update. Returns the final
// values in `parameters`.
StrategyRun train(nn::Strategy& strategy, const StrategyReport& report, const Samples& samples,
                  std::vector<float>& parameters) {
  StrategyRun run;
  std::vector<double> seconds;
  wait_for(report.devices);
  for (int step = 0; step < report.steps; ++step) {
    const int64_t sent = strategy.sent_bytes();
    const auto begin = std::chrono::steady_clock::now();
    strategy.train_step(samples.batch(step));
    wait_for(report.devices);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    const LossStats loss_stats = strategy.take_loss_stats();
    run.losses.push_back(loss_stats.loss / static_cast<double>(loss_stats.rows));
    run.sent_bytes = strategy.sent_bytes() - sent;
  }
  run.step_seconds = median(seconds);
  run.memory = strategy.memory();
  parameters = strategy.parameters();
  return run;
}

// Returns NaN if there is one, because a diverged training is not an agreement.
double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - b[i]);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace

void run_strategies(const StrategiesArguments& arguments, std::ostream& out) {
  check(arguments);
  const OutputFile json("--json", arguments.json), svg("--svg", arguments.svg);
  const nn::NamedModel model = model_of(arguments);
  const nn::Graph graph = nn::make_graph(model.network, model.input);
  const bool lenet = arguments.model == "lenet";
  StrategyReport report{.model = arguments.model, .devices = {}, .runs = {}};
  report.batch = arguments.batch;
  report.micro_batches =
      arguments.micro_batches.value_or(std::min(StrategiesArguments::kMicroBatches, arguments.batch));
  report.parameters = graph.parameter_count();
  report.steps = arguments.steps;
  report.lr = arguments.lr.value_or(lenet ? StrategiesArguments::kLenetLearningRate
                                          : StrategiesArguments::kMlpLearningRate);
  if (arguments.devices && std::ranges::count(arguments.strategies, nn::StrategyKind::pipeline) > 0)
    static_cast<void>(nn::stages_of(model.network, model.input, arguments.batch, arguments.devices->size()));

  report.devices = take_devices(arguments.devices);  // before the data set, which takes longer
  FashionMnist data;
  if (lenet) {
    ImageTraining where;
    where.data = arguments.data;
    data = load_fashion_mnist_images(where);
    for (const OutputFile* file : {&json, &svg})
      for (const IdxDataSet::File& input : data.files) file->check_is_not(kFileOfData, input.path);
    if (arguments.batch > data.train_count)
      throw Error(bad_argument("--batch is ", arguments.batch, ", must be at most ", data.train_count,
                               ", the number of training images"));
    keep_first(data, arguments.batch * arguments.steps);
  }
  std::unique_ptr<Samples> samples;
  if (lenet)
    samples = std::make_unique<Images>(data, arguments.batch);
  else
    samples = std::make_unique<Numbers>(arguments.batch, model.input.size(), graph.output().shape.size(),
                                        arguments.seed, report.devices[0]);

  const nn::StrategyOptions options = {.devices = report.devices,
                                       .batch = report.batch,
                                       .learning_rate = report.lr,
                                       .seed = arguments.seed,
                                       .micro_batches = report.micro_batches};
  std::vector<float> reference, parameters;
  for (const nn::StrategyKind kind : arguments.strategies) {
    const auto strategy = nn::make_strategy(kind, model.network, model.input, options);
    StrategyRun run = train(*strategy, report, *samples, parameters);
    run.kind = kind;
    if (kind == nn::StrategyKind::single) reference = parameters;
    run.difference = largest_difference(parameters, reference);
    report.runs.push_back(std::move(run));
  }
  out << strategies_text(report);
  if (json.wanted()) {
    json.write(strategies_json(report));
    out << "wrote " << json.shown() << "\n";
  }
  if (svg.wanted()) {
    svg.write(strategies_svg(report));
    out << "wrote " << svg.shown() << "\n";
  }
}

}  // namespace rondo::program
