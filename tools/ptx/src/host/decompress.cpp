// nvcc --compress-mode: LZ4 blocks ("speed") and Zstandard (all others).
#include "decompress.h"

#include <dlfcn.h>

#include <algorithm>

#include "../device/interpreter.h"

namespace ptx {
namespace {

constexpr uint64_t kLz4 = 0x2000, kZstandard = 0x8000;
constexpr int kInvalidImage = 200;  // cudaErrorInvalidKernelImage

[[noreturn]] void refuse(const std::string& why) {
  throw Fault{kInvalidImage, "the compressed PTX of the program can't be read: " + why +
                                 "; nvcc --no-compress leaves it as it is"};
}

// The block format of https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md: literals, then a copy of
// earlier text, and so on. The last sequence has literals only.
std::string from_lz4(const unsigned char* data, size_t bytes, size_t text_bytes) {
  std::string text;
  text.reserve(text_bytes);
  size_t at = 0;
  const auto byte = [&]() -> size_t {
    if (at >= bytes) refuse("it ends too early");
    return data[at++];
  };
  const auto length = [&](size_t nibble) {
    size_t result = nibble;
    for (size_t more = nibble == 15 ? 255 : 0; more == 255;) result += more = byte();
    return result;
  };
  while (text.size() < text_bytes) {
    const size_t token = byte();
    const size_t literals = length(token >> 4);
    if (literals > bytes - at) refuse("it ends too early");
    text.append(reinterpret_cast<const char*>(data + at), literals);
    at += literals;
    if (text.size() >= text_bytes) break;
    const size_t low = byte(), distance = low | byte() << 8;
    const size_t count = length(token & 15) + 4;
    if (distance == 0 || distance > text.size()) refuse("a distance is outside of the text");
    for (size_t i = 0; i < count; ++i) text.push_back(text[text.size() - distance]);
  }
  text.resize(std::min(text.size(), text_bytes));
  return text;
}

// Of libzstd.so.1, which has no header on machines that only run programs.
std::string from_zstandard(const unsigned char* data, size_t bytes, size_t text_bytes) {
  using Decompress = size_t (*)(void* to, size_t capacity, const void* from, size_t bytes);
  static const auto decompress = [] {
    void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Decompress>(library ? dlsym(library, "ZSTD_decompress") : nullptr);
  }();
  if (!decompress) refuse("libzstd.so.1 is not installed");
  std::string text(text_bytes, '\0');
  if (decompress(text.data(), text.size(), data, bytes) != text_bytes) refuse("it is no Zstandard frame");
  return text;
}

}  // namespace

bool is_compressed(uint64_t flags) { return (flags & (kLz4 | kZstandard)) != 0; }

std::string decompressed(uint64_t flags, const unsigned char* data, size_t bytes, size_t text_bytes) {
  return flags & kLz4 ? from_lz4(data, bytes, text_bytes) : from_zstandard(data, bytes, text_bytes);
}

}  // namespace ptx
