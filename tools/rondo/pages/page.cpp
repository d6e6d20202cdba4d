#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/pages/page.h>
#include <rondo/tools/rondo/pictures/svg.h>

#include <stdexcept>

namespace rondo::program {

std::string filled_page(std::string_view page,
                        const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string text;
  size_t used = 0;
  for (size_t begin = 0; begin < page.size();) {
    const size_t open = page.find("{{", begin);
    text += page.substr(begin, open - begin);
    if (open == std::string_view::npos) break;
    const size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    for (const auto& [key, value] : values) {
      if (key != name) continue;
      text += value;
      ++used;
    }
    begin = close + 2;
  }
  if (used == values.size()) return text;
  throw std::logic_error(concat("a page has ", used, " of ", values.size(), " places"));
}

std::string json_in_page(std::string json) {
  for (size_t at = 0; (at = json.find("</", at)) != std::string::npos; at += 3) json.insert(at + 1, "\\");
  return json;
}

std::string text_in_page(const std::string& text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    result += svg::escaped(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return result;
}

}  // namespace rondo::program
