#include <rondo/nn/data/image_set.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/data/labels.h>

#include <algorithm>
#include <cmath>

namespace rondo::nn {

namespace {

bool is_usable(float mean, float stddev) {
  return std::isfinite(mean) && std::isfinite(stddev) && stddev >= 1e-6f && std::isfinite(mean / stddev);
}
constexpr const char* kUsable =
    ", must be finite, also their quotient, and the standard deviation at least 1e-6";

struct Moments {
  std::vector<double> mean, variance;  // of each channel; the variance of equal values is exactly 0
};

Moments moments_of(std::span<const uint8_t> bytes, size_t channels) {
  std::vector<int64_t> sums(channels), squares(channels);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int64_t byte = bytes[i];
    sums[i % channels] += byte;
    squares[i % channels] += byte * byte;
  }
  const auto count = static_cast<int64_t>(bytes.size() / channels);
  const auto all = 255 * static_cast<double>(count);
  Moments moments;
  for (size_t c = 0; c < channels; ++c) {
    const __int128 squared_sum = static_cast<__int128>(sums[c]) * sums[c],
                   difference = static_cast<__int128>(squares[c]) * count - squared_sum;
    moments.mean.push_back(static_cast<double>(sums[c]) / all);
    moments.variance.push_back(static_cast<double>(difference) / (all * all));
  }
  return moments;
}

// The sums are of differences from the channel's first value, and then from the mean, because values may be
// far from 0 beside their deviation.
Moments moments_of(std::span<const float> values, size_t channels) {
  const auto count = static_cast<double>(values.size() / channels);
  Moments moments = {std::vector<double>(channels), std::vector<double>(channels)};
  for (size_t i = 0; i < values.size(); ++i)
    moments.mean[i % channels] += double{values[i]} - double{values[i % channels]};
  for (size_t c = 0; c < channels; ++c) moments.mean[c] = double{values[c]} + moments.mean[c] / count;
  for (size_t i = 0; i < values.size(); ++i) {
    const double difference = double{values[i]} - moments.mean[i % channels];
    moments.variance[i % channels] += difference * difference;
  }
  for (double& variance : moments.variance) variance /= count;
  return moments;
}

void check_finite(const char* who, std::span<const float> values, const Shape& image) {
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const auto index = bad - values.begin();
  throw Error(bad_argument(who, ": the value at ",
                           position_in_sample(image, index / image.size(), index % image.size()), " is ",
                           *bad, ", must be finite"));
}

}  // namespace

Normalize normalize_of(const ImageSet& set) {
  const auto channels = static_cast<size_t>(set.image.channels);
  return std::visit(
      [&](auto values) {
        if (values.empty() || channels == 0)
          throw Error(bad_argument("normalize_of: there are no images, must be at least one"));
        const Moments moments = moments_of(values, channels);
        Normalize normalize;
        for (size_t c = 0; c < channels; ++c) {
          const auto mean = static_cast<float>(moments.mean[c]),
                     stddev = static_cast<float>(std::sqrt(moments.variance[c]));
          if (moments.variance[c] == 0)
            throw Error(bad_argument("normalize_of: all values of channel ", c,
                                     " are equal, must differ: its standard deviation is 0"));
          if (!is_usable(mean, stddev))
            throw Error(bad_argument("normalize_of: channel ", c, " has the mean ", mean,
                                     " and the standard deviation ", stddev, kUsable));
          normalize.mean.push_back(mean);
          normalize.stddev.push_back(stddev);
        }
        return normalize;
      },
      set.images);
}

void check_normalize(const char* who, const Normalize& normalize, int64_t channels) {
  const auto means = std::ssize(normalize.mean), deviations = std::ssize(normalize.stddev);
  if (means != deviations || (means > 1 && means != channels))
    throw Error(bad_argument(who, ": there are ", counted(means, "mean"), " and ",
                             counted(deviations, "standard deviation"), ", must be one of each",
                             channels > 1 ? concat(", or ", channels, ", one for each channel") : ""));
  for (size_t i = 0; i < normalize.mean.size(); ++i)
    if (!is_usable(normalize.mean[i], normalize.stddev[i]))
      throw Error(bad_argument(who, ": mean ", normalize.mean[i], " and standard deviation ",
                               normalize.stddev[i], kUsable));
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
  const bool of_bytes = std::holds_alternative<std::span<const uint8_t>>(set.images);
  const char* const unit = of_bytes ? "byte" : "value";
  const int64_t values = std::visit([](auto all) { return static_cast<int64_t>(all.size()); }, set.images);
  if (set.size() == 0 || values != set.size() * input.size())
    throw Error(bad_argument(who, ": ", there_are(values, unit), " and ", counted(set.size(), "label"),
                             ", must be ", counted(input.size(), unit), " for each of at least one label"));
  std::visit([&](auto labels) { check_labels(who, labels, outputs); }, set.labels);
  if (!of_bytes) check_finite(who, std::get<std::span<const float>>(set.images), set.image);
}

}  // namespace rondo::nn
