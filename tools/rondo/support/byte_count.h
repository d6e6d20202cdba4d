// Byte counts as text: 25MB, 16MiB, 1000.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::program {

inline constexpr int64_t kMostBytes = int64_t{1} << 50;

// Reads a whole number with an optional unit: B; kB, MB, GB, TB (powers of 1000); KiB, MiB, GiB, TiB (powers
// of 1024). Returns nothing for any other text, and for values outside 0 to kMostBytes.
std::optional<int64_t> read_byte_count(const std::string& text);

// As read_byte_count(), with `least` as the lower bound. Throws a bad_argument Error that names `option`.
int64_t parse_byte_count(const std::string& option, const std::string& text, int64_t least);

// "25 MB", "16 MiB", "1,001 bytes": always exact, in the largest unit that divides the count.
std::string byte_count_text(int64_t bytes);

}  // namespace rondo::program
