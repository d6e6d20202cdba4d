// Files as they are shipped: whole, and gzipped or not. What the file holds decides, not its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

// Far above any data set of this format, and far below what a hostile file could unpack to.
inline constexpr int64_t kMostDataBytes = int64_t{1} << 30;

// The contents of the regular file at `path`, decompressed when it is a gzip file (RFC 1952, several members
// allowed). Throws a bad_argument Error that names the file when it can't be read, when the gzip data is cut
// off, damaged or followed by something else, or when the file or its contents have more than `most_bytes`;
// `most_bytes` is at most kMostDataBytes.
std::vector<uint8_t> read_maybe_gzip(const std::string& path, int64_t most_bytes = kMostDataBytes);

}  // namespace rondo
