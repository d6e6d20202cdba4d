#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/nn/data/idx.h>
#include <rondo/nn/io/big_endian.h>
#include <rondo/nn/io/sha256.h>

#include <cstdio>

namespace rondo {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr int64_t kMagicBytes = 4, kSizeBytes = 4;

template <class... Parts>
[[noreturn]] void fail(const std::string& path, const Parts&... parts) {
  throw Error(bad_argument(path, ": ", parts...));
}

std::string hex(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

// The largest header: the values of an IDX file begin after it.
constexpr int64_t kMostIdxHeaderBytes = kMagicBytes + 255 * kSizeBytes;

// The most common failed download is a server's error page under the name of the data file.
bool looks_like_markup(const std::vector<uint8_t>& content) {
  size_t i = 0;
  while (i < content.size() && (content[i] == ' ' || (content[i] >= '\t' && content[i] <= '\r'))) ++i;
  return i < content.size() && content[i] == '<';
}

void check_magic(const std::vector<uint8_t>& content, const std::string& path) {
  if (looks_like_markup(content))
    fail(path, "holds a web page or other markup, not IDX data: was an error page saved under this name?");
  if (std::ssize(content) < kMagicBytes)
    fail(path, "has ", counted(content.size(), "byte"),
         ", too few for an IDX file, which begins with 4 bytes of magic number");
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

IdxFile::IdxFile(const std::string& path) : path_(path), file_(path) {
  file_.read(&content_, kMostIdxHeaderBytes);
  check_magic(content_, path_);

  const int64_t rank = content_[3], header_bytes = kMagicBytes + rank * kSizeBytes;
  if (std::ssize(content_) < header_bytes)
    fail(path_, "ends inside its header: ", counted(content_.size(), "byte"), ", must be at least ",
         header_bytes, " for ", counted(rank, "dimension"));
  for (int64_t i = 0; i < rank; ++i)
    shape_.push_back(big_endian_word(content_.data() + kMagicBytes + i * kSizeBytes));
}

IdxArray IdxFile::read() {
  const int64_t header_bytes = kMagicBytes + std::ssize(shape_) * kSizeBytes;
  const int64_t promised = saturating_product(shape_), most = kMostDataBytes - header_bytes;
  if (promised > most && file_.most_bytes() > std::ssize(content_))  // otherwise the file is truncated
    fail(path_, "has a header that promises ", product_text(shape_), " values, must be at most ", most);

  // One byte more than promised shows that the file is too long.
  const int64_t wanted = std::min(promised, most) + 1 + header_bytes;
  file_.read(&content_, std::max<int64_t>(wanted - std::ssize(content_), 1));
  const int64_t present = std::ssize(content_) - header_bytes;
  if (promised > present)
    fail(path_, "is cut off: its header promises ", product_text(shape_), " values, but only ",
         counted(present, "byte"), present == 1 ? " follows" : " follow");
  if (promised < present)
    fail(path_, "has too many bytes: its header promises ", product_text(shape_),
         " values, but more bytes follow");
  IdxArray array = {.shape = shape_, .values = {}, .sha256 = sha256(content_)};
  content_.erase(content_.begin(), content_.begin() + static_cast<std::ptrdiff_t>(header_bytes));
  array.values = std::move(content_);
  return array;
}

}  // namespace rondo
