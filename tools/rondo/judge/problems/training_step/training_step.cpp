#include <algorithm>
#include <cmath>
#include <limits>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

struct TrainingStepSizes {
  size_t images, features, classes, devices;
  size_t weights() const { return features * classes; }
  size_t begin(size_t device) const { return images * device / devices; }  // of its images
};

// The sums over the images of each device, one after another, of the gradients of the losses.
std::vector<std::vector<double>> training_step_gradients(const TrainingStepSizes& s,
                                                         const std::vector<float>& weights,
                                                         const std::vector<float>& images,
                                                         const std::vector<int>& labels) {
  std::vector<std::vector<double>> gradients(s.devices, std::vector<double>(s.weights()));
  for (size_t d = 0; d < s.devices; ++d)
    for (size_t i = s.begin(d); i < s.begin(d + 1); ++i) {
      std::vector<double> error(s.classes);
      for (size_t c = 0; c < s.classes; ++c)
        for (size_t f = 0; f < s.features; ++f)
          error[c] += static_cast<double>(images[i * s.features + f]) * weights[f * s.classes + c];
      const double most = *std::max_element(error.begin(), error.end());
      double sum = 0;
      for (double& value : error) sum += value = std::exp(value - most);
      for (double& value : error) value /= sum;
      error[static_cast<size_t>(labels[i])] -= 1;
      for (size_t f = 0; f < s.features; ++f)
        for (size_t c = 0; c < s.classes; ++c)
          gradients[d][f * s.classes + c] += images[i * s.features + f] * error[c];
    }
  return gradients;
}

void fill_training_step(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int count = sizes["images"], features = sizes["features"], classes = sizes["classes"];
  to.devices = sizes["devices"];
  const TrainingStepSizes s = {static_cast<size_t>(count), static_cast<size_t>(features),
                               static_cast<size_t>(classes), static_cast<size_t>(to.devices)};
  constexpr float kRate = 0.5f;
  const std::vector<float> weights = random.floats(int64_t{features} * classes);
  const std::vector<float> images = random.floats(int64_t{count} * features);
  const std::vector<int> labels = random.integers<int>(count, 0, classes - 1);
  const auto gradients = training_step_gradients(s, weights, images, labels);

  // The arrays of the devices. What lies behind their images is no number, and no class.
  const size_t room = (s.images + s.devices - 1) / s.devices;
  std::vector<float> all_weights,
      all_images(s.devices * room * s.features, std::numeric_limits<float>::quiet_NaN());
  std::vector<int> all_labels(s.devices * room, -1);
  for (size_t d = 0; d < s.devices; ++d) {
    all_weights.insert(all_weights.end(), weights.begin(), weights.end());
    const auto begin = static_cast<ptrdiff_t>(s.begin(d)), end = static_cast<ptrdiff_t>(s.begin(d + 1));
    std::copy(images.begin() + begin * features, images.begin() + end * features,
              all_images.begin() + static_cast<ptrdiff_t>(d * room * s.features));
    std::copy(labels.begin() + begin, labels.begin() + end,
              all_labels.begin() + static_cast<ptrdiff_t>(d * room));
  }

  // The weights of all devices after a step by gradient(device, weight).
  const auto after = [&](auto gradient) {
    std::vector<double> result;
    for (size_t d = 0; d < s.devices; ++d)
      for (size_t w = 0; w < s.weights(); ++w) result.push_back(weights[w] - kRate * gradient(d, w));
    return result;
  };
  const auto sum = [&](size_t w) {
    double total = 0;
    for (const std::vector<double>& gradient : gradients) total += gradient[w];
    return total;
  };
  const auto mean = [&](size_t d, size_t w) {
    return gradients[d][w] / static_cast<double>(s.begin(d + 1) - s.begin(d));
  };
  // A logit is a sum of `features` products below 1. Its rounding, some 1e-6, is that of the mean gradient
  // too.
  Argument& argument = to.in_out_on_devices(
      "weights", all_weights,
      {.values = after([&](size_t, size_t w) { return sum(w) / count; }), .absolute = 1e-5});
  if (s.devices > 1 && s.images >= s.devices) {
    argument.mistakes.push_back(
        {after([&](size_t, size_t w) {
           double total = 0;
           for (size_t d = 0; d < s.devices; ++d) total += mean(d, w);
           return total / static_cast<double>(s.devices);
         }),
         "The mean of the shards' means",
         "the mean of the devices' means gives each device the same weight, but they have "
         "different numbers of images: add the sums, then divide by the number of all images"});
    argument.mistakes.push_back({after(mean), "The sum that is rebound",
                                 "each device has stepped by the mean gradient of its own images"});
    argument.mistakes.push_back(
        {after([&](size_t d, size_t w) { return gradients[d][w] / count; }), "The sum that is rebound",
         "each device has stepped by its own gradient: the sum of all devices is missing"});
  }
  argument.mistakes.push_back({after([&](size_t, size_t w) { return sum(w); }), "",
                               "the gradient is the sum over the images, and must be their mean"});
  to.input_on_devices("images", all_images);
  to.input_on_devices("labels", all_labels);
  to.scalar("count", count);
  to.scalar("features", features);
  to.scalar("classes", classes);
  to.scalar("rate", kRate);
  to.scalar("devices", to.devices);
}

}  // namespace

Problem training_step_problem() {
  return {.name = "training_step",
          .title = "Data-parallel training step",
          .idea = "gradients on each device, their sum, and equal weights",
          .declaration =
              "void training_step(float* const* weights, const float* const* images, "
              "const int* const* labels, int count, int features, int classes, float rate, "
              "int devices)",
          .sizes = {{{"images", 1}, {"features", 1}, {"classes", 2}, {"devices", 1}},
                    {{"images", 1}, {"features", 5}, {"classes", 3}, {"devices", 2}},
                    {{"images", 7}, {"features", 10}, {"classes", 3}, {"devices", 3}},
                    {{"images", 50}, {"features", 33}, {"classes", 10}, {"devices", 4}},
                    {{"images", 101}, {"features", 64}, {"classes", 32}, {"devices", 5}}},
          .counted = {{"images", 512}, {"features", 784}, {"classes", 10}, {"devices", 4}},
          .fill = fill_training_step};
}

}  // namespace rondo::program
