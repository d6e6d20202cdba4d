// SHA-256 (FIPS 180-4): tells whether a file is, byte for byte, the one that it claims to be.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rondo {

// The digest of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256(std::span<const uint8_t> bytes);

}  // namespace rondo
