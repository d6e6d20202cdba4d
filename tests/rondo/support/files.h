// Files for tests: temporary directories, data in the IDX format, gzip, and deliberate damage.
#pragma once

#include <gtest/gtest.h>
#include <rondo/kernels/core/status.h>
#include <stdlib.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace rondo::test {

using Bytes = std::vector<uint8_t>;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "rondo-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(file.flush()) << path;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

inline Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(deflateBound(&stream, plain.size()) + 64);
  stream.next_in = const_cast<uint8_t*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// The bytes of an IDX file of unsigned bytes.
inline Bytes idx(const std::vector<uint32_t>& shape, const Bytes& values) {
  Bytes bytes = {0, 0, 8, static_cast<uint8_t>(shape.size())};
  for (uint32_t size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(size >> shift));
  }
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

// Adjacent values differ, so that a shift by one is detected.
inline Bytes pattern(size_t count, int modulus) {
  Bytes values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint8_t>((i * 7 + i / 13) % modulus);
  return values;
}

// A small complete data set, gzipped: `train` and `test` images with labels.
inline void write_data_set(const std::filesystem::path& directory, uint32_t train, uint32_t test) {
  write_file(directory / "train-images-idx3-ubyte.gz", gzip(idx({train, 28, 28}, pattern(train * 784, 251))));
  write_file(directory / "train-labels-idx1-ubyte.gz", gzip(idx({train}, pattern(train, 10))));
  write_file(directory / "t10k-images-idx3-ubyte.gz", gzip(idx({test, 28, 28}, pattern(test * 784, 241))));
  write_file(directory / "t10k-labels-idx1-ubyte.gz", gzip(idx({test}, pattern(test, 9))));
}

// The message of the bad_argument Error that `action` throws. Fails if it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::bad_argument);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos)
        << "more than one line: " << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// The first of `parts` that is not in `text`, or an empty string.
inline std::string missing(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) return "'" + part + "' is not in: " + text;
  }
  return "";
}

// How often `part` is in `text`.
inline size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace rondo::test
