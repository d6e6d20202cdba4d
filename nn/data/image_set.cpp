#include <rondo/nn/data/image_set.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/data/labels.h>

namespace rondo::nn {

void check_images(const char* who, const ImageSet& set, const Shape& input, int64_t outputs) {
  const auto is_vector = [](const Shape& shape) { return shape.height == 1 && shape.width == 1; };
  const bool fits =
      set.image == input || (set.image.size() == input.size() && (is_vector(set.image) || is_vector(input)));
  if (!fits)
    throw Error(bad_argument(who, ": an image is ", text(set.image), ", must be ", text(input),
                             ", the network's input"));
  const int64_t bytes = input.size();
  if (set.labels.empty() || static_cast<int64_t>(set.images.size()) != set.size() * bytes)
    throw Error(bad_argument(who, ": ", there_are(set.images.size(), "byte"), " and ",
                             counted(set.size(), "label"), ", must be ", counted(bytes, "byte"),
                             " for each of at least one label"));
  check_labels(who, set.labels, outputs);
}

}  // namespace rondo::nn
