// Fashion-MNIST itself, for tests that are about its images. They skip where it is not.
#pragma once

#include <rondo/nn/data/fashion_mnist.h>

#include <filesystem>
#include <optional>

namespace rondo::test {

constexpr const char* kNoRealImages =
    "Fashion-MNIST is neither installed nor in the directory that RONDO_DATA names";

// Nothing where there is none. RONDO_DATA may name another data set; what is installed must be the original.
inline std::optional<FashionMnist> real_images() {
  const std::string directory = fashion_mnist_directory();
  if (!std::filesystem::exists(directory)) return {};
  const bool installed = directory == kInstalledFashionMnist;
  FashionMnist data = load_fashion_mnist(directory, installed ? Checksums::require : Checksums::report);
  if (!data.authentic) return {};
  return data;
}

}  // namespace rondo::test
