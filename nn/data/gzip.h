// Reads whole files, gzipped or not. Detection is by content, not by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

// Upper limit: far above any data set of this format, far below the unpacked size of a malicious file.
inline constexpr int64_t kMostDataBytes = int64_t{1} << 30;

// Returns the contents of the regular file at `path`, decompressed if it is a gzip file (RFC 1952, several
// members allowed). Throws a bad_argument Error that names the file if it cannot be read; if the gzip data is
// truncated, damaged or followed by other data; or if the file or its contents exceed `most_bytes`, which is
// at most kMostDataBytes.
std::vector<uint8_t> read_maybe_gzip(const std::string& path, int64_t most_bytes = kMostDataBytes);

}  // namespace rondo
