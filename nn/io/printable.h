// Makes text from users and files safe to print on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo {

// Bytes of the UTF-8 character that `text` begins with (RFC 3629); 0 if the bytes are not a
// character that XML allows, or `text` is empty.
size_t utf8_length(std::string_view text);

// `text`, in which \n, \t and \r are written so, and every other control character (of ASCII, and U+0080 to
// U+009F) and every byte that is not UTF-8 as \xNN: a file's name can't move the cursor, change colours or
// begin a line of its own. Printable text stays as it is, backslashes too, so a second pass changes nothing.
std::string printable(std::string_view text);

// The same of at most the first `most` bytes, and "..." where there are more.
std::string excerpt(std::string_view text, size_t most);

}  // namespace rondo
