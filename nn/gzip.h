// Files as they are shipped: whole, and gzipped or not. What the file holds decides, not its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

// The contents of the file at `path`, decompressed when it is a gzip file (RFC 1952, several members
// allowed). Throws a bad_argument Error that names the file when it can't be read, when the gzip data is cut
// off, damaged or followed by something else, or when the contents are larger than 1 GiB.
std::vector<uint8_t> read_maybe_gzip(const std::string& path);

}  // namespace rondo
