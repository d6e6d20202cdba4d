#include "report.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "text.h"

namespace ptx {
namespace {

// The count of each line, by what is before and behind it: "90 K" and a name. Lines "- R NAME" have none.
using Counts = std::map<std::pair<std::string, std::string>, uint64_t>;

void add(Counts& counts, std::string_view lines) {
  while (!lines.empty()) {
    const size_t length = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, length);
    lines.remove_prefix(std::min(length + 1, lines.size()));
    const size_t kind = line.find(' ') + 1, count = line.find(' ', kind) + 1;
    if (kind == 0 || count == 0) continue;
    uint64_t number = 0;
    size_t name = count;
    if (line[kind] != 'R') {
      std::from_chars(line.data() + count, line.data() + line.size(), number);
      name = line.find(' ', count) + 1;
    }
    counts[{std::string(line.substr(0, count - 1)), std::string(line.substr(name))}] += number;
  }
}

std::string text_of(const Counts& counts) {
  std::string text;
  for (const auto& [line, count] : counts)
    text +=
        line.first + (line.first.back() == 'R' ? " " : simt::joined(" ", count, " ")) + line.second + "\n";
  return text;
}

bool read_all(int file, std::string& text) {
  char part[1 << 16];
  for (;;) {
    const ssize_t bytes = ::read(file, part, sizeof(part));
    if (bytes <= 0) return bytes == 0;
    text.append(part, static_cast<size_t>(bytes));
  }
}

}  // namespace

bool add_to_report(const std::string& name, const std::string& lines) {
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return false;
  std::string text;
  bool right = flock(file, LOCK_EX) == 0 && read_all(file, text);
  if (right) {
    Counts counts;
    add(counts, text);
    add(counts, lines);
    text = text_of(counts);  // never shorter than before
    right = pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  }
  close(file);  // ends the lock
  return right;
}

}  // namespace ptx
