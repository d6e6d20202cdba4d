// The original Fashion-MNIST, for tests that depend on its images. The tests skip if it is missing.
#pragma once

#include <rondo/nn/data/fashion_mnist.h>

#include <filesystem>
#include <optional>

namespace rondo::test {

constexpr const char* kNoRealImages =
    "Fashion-MNIST is neither installed nor in the directory that RONDO_DATA names";

// Empty if there is no data. RONDO_DATA may name another data set; the installed data must be the original.
inline std::optional<FashionMnist> real_images() {
  const std::string directory = fashion_mnist_directory();
  if (!std::filesystem::exists(directory)) return {};
  const bool installed = directory == kInstalledFashionMnist;
  FashionMnist data = load_fashion_mnist(directory, installed ? Checksums::require : Checksums::report);
  if (!data.authentic) return {};
  return data;
}

}  // namespace rondo::test
