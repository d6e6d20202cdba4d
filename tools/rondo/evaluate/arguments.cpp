#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/evaluate/evaluate.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/image_model.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {
namespace {

constexpr int64_t kMost = 1'000'000'000;

void add_evaluate_options(const Command& evaluate, EvaluateArguments& to) {
  evaluate
      .add("model", "MODEL", any_of(nn::image_model_names()),
           [&](const std::string& s) { to.model = read_word("model", s, nn::image_model_names()); })
      .required();
  evaluate
      .add("from", "FILE", "A checkpoint or parameters of Rondo, or a PyTorch state dict in safetensors",
           [&](const std::string& s) { to.from = read_path("from", s); })
      .required();
  evaluate.when_missing("a model and its parameters are needed: rondo evaluate lenet run.safetensors");
  add_path(evaluate, "--names", "FILE.json",
           "PyTorch's paths of modules: {\"path in rondo summary\": \"path in PyTorch\"}", to.names);
  evaluate.add("--devices", "N|LIST", "A count, or a list such as 0,1 [1]",
               [&](const std::string& s) { to.devices = parse_devices(s); });
  add_integer(evaluate, "--batch", "N", "Images at a time over all devices [256]", to.batch, 1, kMost);
  add_integer(evaluate, "--limit", "SAMPLES", "Use only the first SAMPLES test images", to.limit, 1, kMost);
  add_path(evaluate, "--data", "DIR", kDataHelp, to.data);
  add_integer(evaluate, "--classes", "N",
              "Number of classes [that of the checkpoint, else the largest label + 1]", to.classes, 2,
              kMostClasses);
  const Option mean =
      add_means(evaluate, "Means of the channels for the normalisation [those of the checkpoint]", to.mean);
  const Option deviation =
      add_numbers(evaluate, "--std", "Standard deviations of the channels, with --mean", to.stddev);
  mean.needs(deviation);
  deviation.needs(mean);
  add_name(evaluate, "--precision", "NAME", kPrecisionHelp, to.precision, kPrecisions);
}

}  // namespace

void add_evaluate(Program& program) {
  program.add<EvaluateArguments>("evaluate", "Loss and accuracy of saved parameters on the test images",
                                 add_evaluate_options,
                                 [](const EvaluateArguments& arguments, const RunContext& context) {
                                   evaluate(arguments, context.out, context.terminal);
                                 });
}

}  // namespace rondo::program
