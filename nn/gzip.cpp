#include <rondo/kernels/core/status.h>
#include <rondo/nn/gzip.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace rondo {
namespace {

// Far above any data set of this format, and far below what a hostile file could unpack to.
constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr size_t kChunkBytes = size_t{1} << 20;

template <class... Parts>
[[noreturn]] void fail(const std::string& path, const Parts&... parts) {
  throw Error(bad_argument(path, ": ", parts...));
}

std::vector<uint8_t> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) fail(path, "can't be opened (", std::strerror(errno), ")");
  std::vector<uint8_t> bytes;
  size_t size = 0;
  do {
    bytes.resize(size + kChunkBytes);
    size += std::fread(bytes.data() + size, 1, kChunkBytes, file.get());
    if (size > kMaxBytes) fail(path, "is larger than 1 GiB, which no data set of this kind is");
  } while (size == bytes.size());
  if (std::ferror(file.get())) fail(path, "can't be read (", std::strerror(errno), ")");
  bytes.resize(size);
  return bytes;
}

bool begins_as_gzip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip framing
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::vector<uint8_t> run(std::span<const uint8_t> packed, const std::string& path) {
    std::vector<uint8_t> bytes;
    size_t size = 0;
    stream_.next_in = const_cast<uint8_t*>(packed.data());  // zlib reads only
    stream_.avail_in = static_cast<uInt>(packed.size());    // at most kMaxBytes
    for (;;) {
      if (size == bytes.size()) bytes.resize(size + std::max(size / 2, kChunkBytes));
      stream_.next_out = bytes.data() + size;
      stream_.avail_out = static_cast<uInt>(bytes.size() - size);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      size = bytes.size() - stream_.avail_out;
      if (size > kMaxBytes) fail(path, "unpacks to more than 1 GiB, which no data set of this kind does");
      if (result == Z_STREAM_END) {
        if (stream_.avail_in == 0) break;
        if (!begins_as_gzip({stream_.next_in, stream_.avail_in})) {
          fail(path, "has ", stream_.avail_in, " bytes of something else after the end of its gzip data");
        }
        inflateReset(&stream_);
      } else if (result == Z_BUF_ERROR) {  // nothing left to read, and there is room to write
        fail(path, "is cut off: its gzip data (", packed.size(), " bytes) ends before the end mark");
      } else if (result != Z_OK) {
        fail(path, "has damaged gzip data (", stream_.msg ? stream_.msg : "unknown format", ") after ", size,
             " unpacked bytes");
      }
    }
    bytes.resize(size);
    return bytes;
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::vector<uint8_t> read_maybe_gzip(const std::string& path) {
  std::vector<uint8_t> bytes = read_file(path);
  return begins_as_gzip(bytes) ? Inflater().run(bytes, path) : bytes;
}

}  // namespace rondo
