#include <rondo/kernels/core/status.h>
#include <rondo/nn/data/fashion_mnist.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace rondo {
namespace {

// The SHA-256 of the decompressed originals, in the order of IdxDataSet::files. Distributions recompress the
// files, so the .gz files differ.
constexpr std::array<const char*, 4> kSha256 = {
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"};

}  // namespace

std::string fashion_mnist_directory() {
  const char* named = std::getenv("RONDO_DATA");
  return named && *named ? named : kInstalledFashionMnist;
}

bool is_fashion_mnist(const IdxDataSet& data) {
  for (size_t i = 0; i < kSha256.size(); ++i)
    if (data.files[i].sha256 != kSha256[i]) return false;
  return true;
}

FashionMnist load_fashion_mnist(const std::string& directory, Checksums checksums) {
  FashionMnist data;
  static_cast<IdxDataSet&>(data) =
      load_idx_folder(directory, {.image = FashionMnist::kImage, .classes = FashionMnist::kClasses});
  data.classes = FashionMnist::kClasses;  // also if no label is 9
  data.authentic = is_fashion_mnist(data);
  if (checksums == Checksums::require)
    for (size_t i = 0; i < kSha256.size(); ++i)
      if (data.files[i].sha256 != kSha256[i])
        throw Error(bad_argument(data.files[i].path, ": its contents have the SHA-256 ", data.files[i].sha256,
                                 ", must be ", kSha256[i], " (Fashion-MNIST)"));
  return data;
}

}  // namespace rondo
