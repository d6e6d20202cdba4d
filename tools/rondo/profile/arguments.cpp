#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/profile/profile_command.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;

// The place of an access, "gemm.cu:23" or longer.
std::string read_line(const std::string& option, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0 && text.find_first_of("0123456789", colon) == colon + 1)
    return text;
  throw Error(bad_argument(option, " is '", text, "', must be a file and a line, such as gemm.cu:23"));
}

void add_size(const Command& command, const std::string& option, const std::string& what, int64_t& to,
              int64_t low = 1, int64_t high = kMostElements) {
  add_integer(command, option, "N", concat(what, " [", to, "]"), to, low, high);
}

// Adds the options of every kind of work. Returns those that need a run of the kernels.
std::vector<Option> add_common(const Command& command, ProfileArguments& to) {
  command.add("--gpu", "NAME", "GPU of the forecast, and whose tiles are chosen [h100]",
              [&](const std::string& s) { to.gpu = s; });
  return {add_integer(
              command, "--blocks", "N",
              "Run and observe at most N blocks of each launch, and scale the counts; 0: all [0; train: 4]",
              to.blocks, 0, kMostElements),
          command.add_flag("--lines", to.lines, "Show the worst source lines, with what to do about them"),
          command.add(
              "--draw", "FILE:LINE",
              "Draw the lanes of the worst requests of a line of --lines: the banks or sectors they access",
              [&](const std::string& s) { to.draw = read_line("--draw", s); }),
          add_path(command, "--draw-svg", "FILE.svg", "Also write this drawing as a picture", to.draw_svg),
          command.add_flag("--warm", to.warm, "Assume that data that fits in the L2 cache is there already"),
          add_path(
              command, "--compiled", "FILE.json",
              "Registers by kernel, as tools/sass-report --write-budget of Rondo's source folder writes them",
              to.compiled),
          add_path(command, "--json", "FILE.json", "Also write all counts", to.json),
          add_path(command, "--svg", "FILE.svg", "Also draw the roofline", to.svg)};
}

void add_math(const Command& command, ProfileArguments& to) {
  static constexpr Math kMaths[] = {Math::fp32, Math::tf32, Math::tf32x3};
  add_name(command, "--math", "NAME", "Arithmetic of float products: fp32, tf32 or tf32x3 [fp32]", to.math,
           kMaths);
}

void add_type(const Command& command, const char* help, ProfileArguments& to) {
  static constexpr DType kTypes[] = {DType::float32, DType::bfloat16, DType::float16};
  add_name(command, "--type", "NAME", help, to.type, kTypes);
}

constexpr const char* kTypeOfElements = "Type of the elements: float32, bfloat16 or float16 [float32]";

void add_image(const Command& command, ProfileArguments& to) {
  add_size(command, "--images", "Images", to.images);
  add_size(command, "--height", "Height of an image", to.height);
  add_size(command, "--width", "Width of an image", to.width);
  add_size(command, "--channels", "Channels of an image", to.channels);
}

void add_gemm_options(const Command& command, ProfileArguments& to) {
  std::vector<Option> runs = add_common(command, to);
  add_size(command, "--m", "Rows of the result", to.m);
  add_size(command, "--n", "Columns of the result", to.n);
  add_size(command, "--k", "Products per result", to.k);
  command.add_flag("--transpose-a", to.transpose_a, "Read A transposed");
  command.add_flag("--transpose-b", to.transpose_b, "Read B transposed");
  runs.push_back(command.add("--variant", "ID", "A rung of the ladder such as 03_shared_tiles, or all [gemm]",
                             [&](const std::string& s) { to.variant = s; }));
  add_math(command, to);
  add_type(command, "Type of the matrices: float32, bfloat16 or float16 [float32]", to);
  const Option plan = command.add_flag(
      "--plan", to.plan,
      "Only show the kernel, tile and parts of k that gemm() chooses for --gpu NAME, or for --gpu all; "
      "in every build");
  for (const Option& option : runs) plan.excludes(option);
}

void add_conv_options(const Command& command, ProfileArguments& to) {
  add_common(command, to);
  add_image(command, to);
  add_size(command, "--filters", "Filters", to.filters);
  add_size(command, "--filter-size", "Height and width of a filter", to.filter_size);
  add_size(command, "--stride", "Stride", to.stride);
  add_size(command, "--pad", "Padding", to.pad, 0);
  add_math(command, to);
  add_type(command, "Type of images and filters: float32, bfloat16 or float16 [float32]", to);
  add_word(command, "--pass", "NAME", "forward, data_gradient, filter_gradient or all [all]", to.pass,
           {"forward", "data_gradient", "filter_gradient", "all"});
  add_word(
      command, "--algorithm", "NAME",
      "automatic, direct, winograd; few_channels or implicit_gemm, the kernels of direct; or all that can "
      "compute this convolution [automatic]",
      to.algorithm, {"automatic", "direct", "winograd", "few_channels", "implicit_gemm", "all"});
}

void add_pool_options(const Command& command, ProfileArguments& to) {
  add_common(command, to);
  add_image(command, to);
  add_size(command, "--window", "Height and width of a window", to.window);
  add_integer(command, "--stride", "N", "Stride [the window]", to.pool_stride, 1, kMostElements);
  add_size(command, "--pad", "Padding", to.pool_pad, 0);
  add_size(command, "--dilation", "Distance of a window's rows and columns, with --kind max", to.dilation);
  add_type(command, kTypeOfElements, to);
  add_word(command, "--kind", "NAME", "avg or max [avg]", to.pool, {"avg", "max"});
  command.add_flag("--indices", to.indices, "With --kind max: keep the indices, and unpool with them");
}

void add_batch_norm_options(const Command& command, ProfileArguments& to) {
  add_common(command, to);
  add_size(command, "--rows", "Rows: images x height x width", to.rows);
  add_size(command, "--channels", "Channels", to.channels);
  add_type(command, kTypeOfElements, to);
}

void add_cross_entropy_options(const Command& command, ProfileArguments& to) {
  add_common(command, to);
  add_size(command, "--rows", "Rows", to.rows);
  add_size(command, "--classes", "Classes", to.classes);
  add_type(command, "Type of logits and gradient: float32, bfloat16 or float16 [float32]", to);
}

void add_all_reduce_options(const Command& command, ProfileArguments& to) {
  add_common(command, to);
  add_integer(command, "--devices", "N", "Devices [2]", to.devices, 2, 64);
  add_size(command, "--bytes", "Bytes per rank", to.bytes, 2);
  add_type(command, kTypeOfElements, to);
  add_name(command, "--algorithm", "NAME", "ring, direct or root [ring]", to.all_reduce, kAlgorithms);
}

void add_train_options(const Command& command, ProfileArguments& to) {
  add_common(command, to);
  command
      .add("model", "MODEL", any_of(nn::model_names()),
           [&](const std::string& s) { to.model = read_word("the model", s, nn::model_names()); })
      .required();
  add_size(command, "--batch-size", "Samples", to.batch);
  add_integer(command, "--layers", "N", "Hidden layers of the mlp [90]", to.layers, 1, 1000);
  add_name(command, "--precision", "NAME", kPrecisionHelp, to.precision, kPrecisions);
}

struct Kind {
  const char *name, *help;
  ProfiledWork work;
  void (*add_options)(const Command& command, ProfileArguments& to);
};
constexpr Kind kKinds[] = {
    {"gemm", "A product of matrices", ProfiledWork::gemm, add_gemm_options},
    {"conv", "A convolution and its gradients", ProfiledWork::conv, add_conv_options},
    {"pool", "A pooling layer, forward and backward", ProfiledWork::pool, add_pool_options},
    {"batch-norm", "Batch normalisation, forward and backward", ProfiledWork::batch_norm,
     add_batch_norm_options},
    {"cross-entropy", "Softmax cross-entropy and its gradient", ProfiledWork::cross_entropy,
     add_cross_entropy_options},
    {"all-reduce", "An all-reduce: the kernels of all ranks", ProfiledWork::all_reduce,
     add_all_reduce_options},
    {"train", "The kernels of one training step", ProfiledWork::train, add_train_options}};

}  // namespace

void add_profile(Program& program) {
  const Command profile = program.command().add_command(
      "profile",
      "Count memory accesses of kernels, and compute a lower bound of their time on a GPU (preset observe)");
  profile.require_command();
  profile.when_missing(
      "nothing to profile was named, must be gemm, conv, pool, batch-norm, cross-entropy, all-reduce or "
      "train MODEL: rondo profile gemm");
  for (const Kind& kind : kKinds)
    program.add<ProfileArguments>(
        profile, kind.name, kind.help,
        [&kind](const Command& command, ProfileArguments& to) {
          to.work = kind.work;
          kind.add_options(command, to);
        },
        [](const ProfileArguments& arguments, const RunContext& context) {
          show_profile(arguments, context.out, context.terminal);
        });
}

}  // namespace rondo::program
