#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/summary/summary.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {
namespace {

constexpr int64_t kMaxBatch = 1'000'000;  // only a mistyped number exceeds it

void add_summary_options(const Command& summary, SummaryArguments& to) {
  summary.add("model", "MODEL", any_of(nn::model_names()), [&](const std::string& s) { to.model = s; })
      .required();
  summary.when_missing("no model was named, must be " + any_of(nn::model_names()) +
                       ": rondo summary resnet18");
  add_model_images(summary, to.images, "");
  add_integer(summary, "--batch", "N", "Samples per step on one device, for the memory estimate [256]",
              to.batch, 1, kMaxBatch);
  add_integer(summary, "--checkpoint-layers", "N",
              "Keep activations only every N operations and recompute the others; 0: keep all [0]",
              to.checkpoint_layers, 0, 1'000'000);
  add_name(summary, "--precision", "NAME", kPrecisionHelp, to.precision, kPrecisions);
  add_path(summary, "--svg", "FILE.svg", "Also draw the network", to.svg);
}

}  // namespace

void add_summary(Program& program) {
  program.add<SummaryArguments>("summary", "Show the layers of a network and their cost", add_summary_options,
                                [](const SummaryArguments& arguments, const RunContext& context) {
                                  show_summary(arguments, context.out);
                                });
}

}  // namespace rondo::program
