// SHA-256 (FIPS 180-4), to check that a file is byte for byte the expected one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rondo {

// The digest of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256(std::span<const uint8_t> bytes);

}  // namespace rondo
