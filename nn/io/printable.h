// Makes text from users and files safe to print on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo {

// Length in bytes of the UTF-8 character at the beginning of `text` (RFC 3629). 0 if the bytes are not a
// character that XML allows, or if `text` is empty.
size_t utf8_length(std::string_view text);

// Escapes control characters: \n, \t and \r as such; all others (ASCII, and U+0080 to U+009F), and every byte
// that is not UTF-8, as \xNN. A file name thus cannot move the cursor, change colours or start a line.
// Printable text, including backslashes, is unchanged, so a second call changes nothing.
std::string printable(std::string_view text);

// printable() of at most the first `most` bytes, followed by "..." if there are more.
std::string excerpt(std::string_view text, size_t most);

}  // namespace rondo
