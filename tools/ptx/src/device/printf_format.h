// The text of printf() in a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ptx {

// `next` returns the bits of the next argument, of 4 or 8 bytes; `text_at` the string at an address.
std::string format_text(const std::string& format, const std::function<uint64_t(uint32_t)>& next,
                        const std::function<std::string(uint64_t)>& text_at);

}  // namespace ptx
