#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/convert/convert.h>
#include <rondo/tools/rondo/support/option_readers.h>

namespace rondo::program {
namespace {

void add_convert_options(const Command& convert, ConvertArguments& to) {
  const auto read = [](const char* name, std::string& path) {
    return [name, &path](const std::string& s) { path = read_path(name, s); };
  };
  convert
      .add("model", "MODEL", any_of(nn::image_model_names()),
           [&](const std::string& s) { to.model = read_word("model", s, nn::image_model_names()); })
      .required();
  convert
      .add("from", "FROM", "A checkpoint or parameters of Rondo, or a PyTorch state dict in safetensors",
           read("from", to.from))
      .required();
  convert.add("to", "TO", "The file to write, in the other of the two formats", read("to", to.to)).required();
  convert.when_missing(
      "a model and two files are needed: rondo convert resnet18 torch.safetensors rondo.safetensors");
  add_model_images(convert, to.images, "those of the checkpoint, else ");
  add_path(convert, "--names", "FILE.json",
           "PyTorch's paths of modules: {\"path in rondo summary\": \"path in PyTorch\"}", to.names);
}

}  // namespace

void add_convert(Program& program) {
  program.add<ConvertArguments>(
      "convert", "Convert parameters to a PyTorch state dict, or from one", add_convert_options,
      [](const ConvertArguments& arguments, const RunContext& context) { convert(arguments, context.out); });
}

}  // namespace rondo::program
