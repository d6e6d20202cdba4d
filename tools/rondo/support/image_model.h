// Models of images by their names: the options --image and --classes, and the networks for them.
#pragma once

#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::program {

inline constexpr int64_t kMostClasses = 256;  // a label is a byte

// The images that a model is made for, by default those of Fashion-MNIST.
struct ModelImages {
  std::optional<nn::Shape> image;
  std::optional<int64_t> classes;
};

// Adds --image and --classes. `otherwise`: what they are if they are not given, for the help.
void add_model_images(const Command& command, ModelImages& to, const std::string& otherwise);

// "32x32x3", the value of --image.
std::string image_option(const nn::Shape& image);
nn::Shape read_image(const std::string& option, const std::string& text);

// Throws a bad_argument Error with the reason if the network cannot take the images, and for a model of
// vectors with either.
nn::NamedModel model_for(const std::string& name, const ModelImages& images, nn::WeightInit weights = {});

}  // namespace rondo::program
