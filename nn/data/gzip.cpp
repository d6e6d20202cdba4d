#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/data/gzip.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>

namespace rondo {
namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 20;
constexpr std::array<uint8_t, 2> kGzipMagic = {0x1f, 0x8b};

}  // namespace

class DataFile::Inflater {
 public:
  explicit Inflater(const RegularFile& file) : file_(file), packed_(size_t{1} << 16) {
    constexpr int kGzipWindow = 15 + 16;  // the largest window, gzip format
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Returns the number of unpacked bytes, fewer than `to` has only at the end.
  size_t read(std::span<uint8_t> to) {
    stream_.next_out = to.data();
    stream_.avail_out = static_cast<uInt>(to.size());  // at most kChunkBytes
    const int64_t before = unpacked_;
    while (stream_.avail_out > 0 && !at_end_) step();
    return static_cast<size_t>(unpacked_ - before);
  }

 private:
  void step() {
    if (stream_.avail_in == 0) refill();
    const uInt room = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    unpacked_ += room - stream_.avail_out;
    if (result == Z_STREAM_END)
      end_member();
    else if (result == Z_BUF_ERROR)  // no input left, and there is room for output
      file_.fail("is cut off: its gzip data (", counted(file_.size(), "byte"), ") ends before the end mark");
    else if (result != Z_OK)
      file_.fail("has damaged gzip data (", stream_.msg ? stream_.msg : "unknown format", ") after ",
                 unpacked_, " unpacked bytes");
  }

  // Another member may follow the end of one.
  void end_member() {
    const int64_t left = file_.size() - read_ + stream_.avail_in;
    at_end_ = left == 0;
    if (at_end_) return;
    std::array<uint8_t, 2> next = {};
    file_.read(next.data(), std::min<int64_t>(left, 2), file_.size() - left);
    if (next != kGzipMagic)
      file_.fail("has ", counted(left, "byte"), " of something else after the end of its gzip data");
    inflateReset(&stream_);
  }

  void refill() {
    const int64_t bytes = std::min<int64_t>(static_cast<int64_t>(packed_.size()), file_.size() - read_);
    file_.read(packed_.data(), bytes, read_);
    read_ += bytes;
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(bytes);
  }

  const RegularFile& file_;
  std::vector<uint8_t> packed_;
  int64_t read_ = 0;  // bytes of the file
  int64_t unpacked_ = 0;
  bool at_end_ = false;
  z_stream stream_{};
};

DataFile::DataFile(const std::string& path) : file_(path) {
  if (file_.size() > kMostDataBytes)
    file_.fail("has ", counted(file_.size(), "byte"), ", must have at most ", kMostDataBytes);
  std::array<uint8_t, 2> first = {};
  file_.read(first.data(), std::min<int64_t>(file_.size(), 2), 0);
  if (first == kGzipMagic) inflater_ = std::make_unique<Inflater>(file_);
}

DataFile::~DataFile() = default;

int64_t DataFile::most_bytes() const {
  constexpr int64_t kMostRatio = 1032;
  return inflater_ ? file_.size() * kMostRatio : file_.size();
}

size_t DataFile::read_plain(std::span<uint8_t> to) {
  const int64_t bytes = std::min(static_cast<int64_t>(to.size()), file_.size() - read_);
  file_.read(to.data(), bytes, read_);
  read_ += bytes;
  return static_cast<size_t>(bytes);
}

void DataFile::read(std::vector<uint8_t>* contents, int64_t bytes) {
  contents->reserve(contents->size() + static_cast<size_t>(std::min(bytes, most_bytes())));
  while (bytes > 0) {
    const size_t before = contents->size();
    const int64_t wanted = std::min(bytes, kChunkBytes);
    contents->resize(before + static_cast<size_t>(wanted));
    const std::span<uint8_t> to = std::span(*contents).subspan(before);
    const size_t got = inflater_ ? inflater_->read(to) : read_plain(to);
    contents->resize(before + got);
    if (got < to.size()) return;
    bytes -= wanted;
  }
}

}  // namespace rondo
