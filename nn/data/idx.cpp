#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/nn/data/gzip.h>
#include <rondo/nn/data/idx.h>
#include <rondo/nn/io/sha256.h>

#include <cstdio>

namespace rondo {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr size_t kMagicBytes = 4;
constexpr size_t kSizeBytes = 4;

template <class... Parts>
[[noreturn]] void fail(const std::string& path, const Parts&... parts) {
  throw Error(bad_argument(path, ": ", parts...));
}

uint32_t big_endian_word(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

// The most common failed download is a server's error page under the name of the data file.
bool looks_like_markup(const std::vector<uint8_t>& content) {
  size_t i = 0;
  while (i < content.size() && (content[i] == ' ' || (content[i] >= '\t' && content[i] <= '\r'))) ++i;
  return i < content.size() && content[i] == '<';
}

void check_magic(const std::vector<uint8_t>& content, const std::string& path) {
  if (looks_like_markup(content))
    fail(path, "holds a web page or other markup, not IDX data: was an error page saved under this name?");
  if (content.size() < kMagicBytes)
    fail(path, "has ", content.size(),
         " bytes, too few for an IDX file, which begins with 4 bytes of magic number");
  const uint32_t magic = big_endian_word(content.data());
  if (magic >> 16 != 0 || content[2] != kUnsignedByte || content[3] == 0)
    fail(path, "begins with ", hex(magic),
         ", must be 0x0000080n: an IDX file of unsigned bytes with n dimensions");
}

std::string product_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t size : shape) text += (text.empty() ? "" : " x ") + exact_text(size);
  return text;
}

}  // namespace

IdxArray read_idx(const std::string& path) {
  std::vector<uint8_t> content = read_maybe_gzip(path);
  check_magic(content, path);

  const size_t rank = content[3];
  const size_t header_bytes = kMagicBytes + rank * kSizeBytes;
  if (content.size() < header_bytes)
    fail(path, "ends inside its header: ", content.size(), " bytes, must be at least ", header_bytes, " for ",
         rank, " dimensions");
  IdxArray array;
  for (size_t i = 0; i < rank; ++i)
    array.shape.push_back(big_endian_word(content.data() + kMagicBytes + i * kSizeBytes));
  const auto present = static_cast<int64_t>(content.size() - header_bytes);
  const int64_t promised = saturating_product(array.shape);
  if (promised > present)
    fail(path, "is cut off: its header promises ", product_text(array.shape), " values, but only ", present,
         " bytes follow");
  if (promised < present)
    fail(path, "has ", present - promised, " bytes too many: its header promises ", product_text(array.shape),
         " values, but ", present, " bytes follow");
  array.sha256 = sha256(content);
  content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(header_bytes));
  array.values = std::move(content);
  return array;
}

}  // namespace rondo
