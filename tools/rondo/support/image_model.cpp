#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/support/image_model.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <algorithm>

namespace rondo::program {

void add_model_images(const Command& command, ModelImages& to, const std::string& otherwise) {
  command.add("--image", "HxWxC", "Height, width and channels of the images [" + otherwise + "28x28x1]",
              [&](const std::string& s) { to.image = read_image("--image", s); });
  add_integer(command, "--classes", "N", "Number of classes [" + otherwise + "10]", to.classes, 2,
              kMostClasses);
}

std::string image_option(const nn::Shape& image) {
  return concat(image.height, "x", image.width, "x", image.channels);
}

nn::Shape read_image(const std::string& option, const std::string& text) {
  constexpr int64_t kMostSide = 1 << 16;
  int64_t sides[3] = {};
  size_t begin = 0;
  for (int64_t& side : sides) {
    const size_t end = std::min(text.find('x', begin), text.size());
    side = read_number<int64_t>(text.substr(std::min(begin, text.size()), end - begin)).value_or(0);
    begin = end + 1;
  }
  const bool good = begin == text.size() + 1 &&
                    std::ranges::all_of(sides, [](int64_t s) { return s >= 1 && s <= kMostSide; });
  if (!good)
    throw Error(bad_argument(option, " is '", text,
                             "', must be height x width x channels such as 32x32x3, each from 1 to ",
                             kMostSide));
  return {sides[0], sides[1], sides[2]};
}

nn::NamedModel model_for(const std::string& name, const ModelImages& images, nn::WeightInit weights) {
  const std::vector<std::string> names = nn::image_model_names();
  if (std::ranges::find(names, name) == names.end()) {
    if (images.image || images.classes)
      throw Error(bad_argument(images.image ? "--image" : "--classes", " is not possible with ", name,
                               ", must be with ", any_of(names)));
    return nn::model(name, weights);
  }
  nn::NamedModel model =
      nn::model(name, weights, images.image.value_or(nn::Shape{28, 28, 1}), images.classes.value_or(10));
  naming(concat(name, " cannot take images of ", text(model.input)),
         [&] { static_cast<void>(nn::make_graph(model.network, model.input)); });
  return model;
}

}  // namespace rondo::program
