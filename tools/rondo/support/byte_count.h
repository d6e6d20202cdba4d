// Numbers of bytes as people write them: 25MB, 16MiB, 1000.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::program {

inline constexpr int64_t kMostBytes = int64_t{1} << 50;

// A whole number and, if wanted, a unit: B; kB, MB, GB, TB (powers of 1000); KiB, MiB, GiB, TiB (of 1024). From 0 to
// kMostBytes; nothing where `text` is something else.
std::optional<int64_t> read_byte_count(const std::string& text);

// The same, from `least` on. Throws a bad_argument Error that names `option`.
int64_t parse_byte_count(const std::string& option, const std::string& text, int64_t least);

// "25 MB", "16 MiB", "1,001 bytes": always exact, in the largest unit that divides it.
std::string byte_count_text(int64_t bytes);

}  // namespace rondo::program
