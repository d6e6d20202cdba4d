#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/checkpoint/state_dict.h>
#include <rondo/nn/io/printable.h>
#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/convert/convert.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/train/settings.h>

namespace rondo::program {

void convert(const ConvertArguments& arguments, std::ostream& out) {
  const OutputFile to("to", arguments.to);
  to.check_is_not("the file that is read", arguments.from);
  to.check_is_not("the file of --names", arguments.names);
  const nn::StateDictNames names =
      arguments.names.empty() ? nn::StateDictNames() : nn::read_state_dict_names(arguments.names);
  ModelImages images = arguments.images;
  if (const auto trained = nn::read_training_state(arguments.from)) {
    const ModelImages of_training = images_in(*trained);
    if (!images.image) images.image = of_training.image;
    if (!images.classes) images.classes = of_training.classes;
  }
  const nn::NamedModel network = model_for(arguments.model, images);
  nn::DataParallel model(network.network, network.input, {.batch = 1});
  const bool is_ours = nn::has_rondo_format(read_safetensors_head(arguments.from));
  if (is_ours) {
    nn::load_parameters(arguments.from, model);
    nn::save_state_dict(arguments.to, model, names);
  } else {
    nn::load_state_dict(arguments.from, model, names);
    nn::save_parameters(arguments.to, model);
  }
  out << "wrote " << to.shown() << ": " << grouped(model.graph().parameter_count()) << " parameters of "
      << arguments.model << (is_ours ? " as a PyTorch state dict" : " of Rondo") << "\n";
}

}  // namespace rondo::program
