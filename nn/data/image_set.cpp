#include <rondo/nn/data/image_set.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/data/labels.h>

#include <cmath>

namespace rondo::nn {

Normalize normalize_of(const ImageSet& set) {
  const auto channels = static_cast<size_t>(set.image.channels);
  if (set.images.empty() || channels == 0)
    throw Error(bad_argument("normalize_of: there are no images, must be at least one"));
  std::vector<int64_t> sums(channels), squares(channels);
  for (size_t i = 0; i < set.images.size(); ++i) {
    const int64_t byte = set.images[i];
    sums[i % channels] += byte;
    squares[i % channels] += byte * byte;
  }
  const auto count = static_cast<double>(set.images.size() / channels);
  Normalize normalize;
  for (size_t c = 0; c < channels; ++c) {
    const double mean = static_cast<double>(sums[c]) / count;
    const double variance = static_cast<double>(squares[c]) / count - mean * mean;
    if (!(variance > 1e-9))  // the rounding of a variance of 0 is below, that of any two bytes above
      throw Error(bad_argument("normalize_of: all bytes of channel ", c,
                               " are equal, must differ: its standard deviation is 0"));
    normalize.mean.push_back(static_cast<float>(mean / 255));
    normalize.stddev.push_back(static_cast<float>(std::sqrt(variance) / 255));
  }
  return normalize;
}

void check_normalize(const char* who, const Normalize& normalize, int64_t channels) {
  const auto means = std::ssize(normalize.mean), deviations = std::ssize(normalize.stddev);
  if (means != deviations || (means > 1 && means != channels))
    throw Error(bad_argument(who, ": there are ", counted(means, "mean"), " and ",
                             counted(deviations, "standard deviation"), ", must be one of each",
                             channels > 1 ? concat(", or ", channels, ", one for each channel") : ""));
  for (size_t i = 0; i < normalize.mean.size(); ++i)
    if (!std::isfinite(normalize.mean[i]) || !std::isfinite(normalize.stddev[i]) ||
        !(normalize.stddev[i] >= 1e-6f) || !std::isfinite(normalize.mean[i] / normalize.stddev[i]))
      throw Error(
          bad_argument(who, ": mean ", normalize.mean[i], " and standard deviation ", normalize.stddev[i],
                       ", must be finite, also their quotient, and the standard deviation at least 1e-6"));
}

void check_augments(const char* who, const Augmentation& augmentation, const Shape& image) {
  if (augmentation.any() && image.height == 1 && image.width == 1)
    throw Error(bad_argument(who, ": augmentation changes images, the network's input is a vector of ",
                             image.channels));
  throw_if_error(check_augmentation(who, augmentation, image.height, image.width));
}

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
