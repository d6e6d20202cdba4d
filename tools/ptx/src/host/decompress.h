#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ptx {

// The text of a compressed entry of a fat binary, `text_bytes` long. `flags` are those of the entry. Throws
// Fault for a form that is not known, or data that is not of it.
std::string decompressed(uint64_t flags, const unsigned char* data, size_t bytes, size_t text_bytes);
bool is_compressed(uint64_t flags);

}  // namespace ptx
