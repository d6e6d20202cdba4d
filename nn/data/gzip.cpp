#include <rondo/kernels/core/status.h>
#include <rondo/nn/data/gzip.h>
#include <rondo/nn/io/regular_file.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <span>

namespace rondo {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

template <class... Parts>
[[noreturn]] void fail(const std::string& path, const Parts&... parts) {
  throw Error(bad_argument(path, ": ", parts...));
}

bool begins_as_gzip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip format
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Never allocates more than `most_bytes` + 1 bytes, whatever the unpacked size.
  std::vector<uint8_t> run(std::span<const uint8_t> packed, const std::string& path, size_t most_bytes) {
    std::vector<uint8_t> bytes;
    size_t size = 0;
    stream_.next_in = const_cast<uint8_t*>(packed.data());  // zlib only reads it
    stream_.avail_in = static_cast<uInt>(packed.size());    // at most kMostDataBytes
    for (;;) {
      if (size == bytes.size())
        bytes.resize(std::min(size + std::max(size / 2, kChunkBytes), most_bytes + 1));
      stream_.next_out = bytes.data() + size;
      stream_.avail_out = static_cast<uInt>(bytes.size() - size);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      size = bytes.size() - stream_.avail_out;
      if (size > most_bytes) fail(path, "unpacks to more than ", most_bytes, " bytes, must be at most that");
      if (result == Z_STREAM_END) {
        if (stream_.avail_in == 0) break;
        if (!begins_as_gzip({stream_.next_in, stream_.avail_in}))
          fail(path, "has ", stream_.avail_in, " bytes of something else after the end of its gzip data");
        inflateReset(&stream_);
      } else if (result == Z_BUF_ERROR) {  // no input left, and there is room for output
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

std::vector<uint8_t> read_maybe_gzip(const std::string& path, int64_t most_bytes) {
  auto bytes = RegularFile(path).contents<std::vector<uint8_t>>(most_bytes);
  return begins_as_gzip(bytes) ? Inflater().run(bytes, path, static_cast<size_t>(most_bytes)) : bytes;
}

}  // namespace rondo
