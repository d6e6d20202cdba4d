#include <rondo/tools/rondo/support/terminal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace rondo::program {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;  // the first variable that is set decides
    for (std::string_view spelling : {"UTF-8", "utf-8", "UTF8", "utf8"}) {
      if (value.find(spelling) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

}  // namespace

Terminal ask_terminal() {
  Terminal terminal;
  const std::string_view kind = environment("TERM");
  terminal.interactive = isatty(STDOUT_FILENO) && !kind.empty() && kind != "dumb";
  terminal.colour = terminal.interactive && environment("NO_COLOR").empty();
  terminal.unicode = locale_is_utf8();
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

std::string inked(const Terminal& terminal, Ink ink, const std::string& text) {
  if (!terminal.colour || ink == Ink::plain) return text;
  const char* code = ink == Ink::dim ? "2" : ink == Ink::bold ? "1" : ink == Ink::accent ? "36" : "32";
  return std::string("\x1b[") + code + "m" + text + "\x1b[0m";
}

}  // namespace rondo::program
