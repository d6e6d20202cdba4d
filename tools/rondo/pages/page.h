// Pages: HTML files that need no network. Their text, style and script are files of this folder's neighbours,
// which the build makes constants (rondo_pages.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rondo::program {

// Replaces each "{{name}}" of the template by its value. Every name must occur exactly once; a name without
// a place is a std::logic_error.
std::string filled_page(std::string_view page,
                        const std::vector<std::pair<std::string_view, std::string>>& values);

// JSON that a <script type="application/json"> element may contain: it cannot end the element.
std::string json_in_page(std::string json);

// Text as the content of an element.
std::string text_in_page(const std::string& text);

}  // namespace rondo::program
