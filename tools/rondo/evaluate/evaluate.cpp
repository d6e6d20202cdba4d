#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/text.h>
#include <rondo/nn/checkpoint/state_dict.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/evaluate/evaluate.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <rondo/tools/rondo/train/settings.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>

namespace rondo::program {

void evaluate(const EvaluateArguments& arguments, std::ostream& out, const Terminal& terminal) {
  const nn::StateDictNames names =
      arguments.names.empty() ? nn::StateDictNames() : nn::read_state_dict_names(arguments.names);
  const std::vector<int> devices = arguments.devices ? take_devices(arguments.devices) : devices_for(1);
  ImageTraining images;
  images.data = arguments.data;
  images.limit = arguments.limit;
  images.classes = arguments.classes;
  nn::Normalize normalize = {arguments.mean, arguments.stddev};
  const std::optional<nn::TrainingState> trained = nn::read_training_state(arguments.from);
  if (trained && normalize.mean.empty()) normalize = normalize_in(*trained);
  const ModelImages of_trained = trained ? images_in(*trained) : ModelImages{};
  const int64_t classes = of_trained.classes.value_or(0);  // 0: not known
  IdxDataSet data = load_images(images, classes > 0);
  if (classes > 0) {
    if (arguments.classes ? data.classes != classes : data.classes > classes)
      throw Error(bad_argument(arguments.classes ? "--classes is " : "the number of classes of the data is ",
                               data.classes, ", must be ", arguments.classes ? "" : "at most ", classes,
                               ", that of the training of '", arguments.from, "'"));
    data.classes = classes;
  }
  if (of_trained.image && of_trained.image->channels != data.image.channels)
    throw Error(bad_argument(data.files[2].path, ": its images are ", text(data.image), ", must have ",
                             counted(of_trained.image->channels, "channel"), " as in the training of '",
                             arguments.from, "'"));
  nn::check_normalize(arguments.mean.empty() ? "the normalisation of the checkpoint" : "--mean and --std",
                      normalize, data.image.channels);
  const nn::NamedModel network = model_for(arguments.model, images_of(data));
  nn::DataParallel model(network.network, network.input,
                         {.devices = devices,
                          .batch = std::max(arguments.batch, static_cast<int64_t>(devices.size())),
                          .math = math_of(arguments.precision),
                          .activations = element_type(arguments.precision)});
  nn::load_weights(arguments.from, model, names);
  show_placement(devices, true, out, terminal);
  show_field(out, terminal, "data", images_text(data, arguments.limit.has_value()));
  show_field(out, terminal, "model",
             concat(arguments.model, ", ", grouped(model.graph().parameter_count()), " parameters from ",
                    arguments.from));
  const nn::DataSet set = data;
  const LossStats stats =
      model.evaluate(nn::DeviceImages(model, set.test.images, set.test.labels, normalize));
  const double samples = static_cast<double>(stats.rows);
  out << "\n"
      << inked(terminal, Ink::bold,
               concat("test loss: ", fixed(stats.loss / samples, 4),
                      ", test acc: ", fixed(static_cast<double>(stats.correct) / samples, 4), ", ",
                      grouped(stats.correct), " of ", grouped(stats.rows, "image")))
      << std::endl;
}

}  // namespace rondo::program
