// MarkedLocale: a locale in which every number of two digits or more is recognised, for tests of text that
// must be the same in every locale. It needs no locale of the machine.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <clocale>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <locale>
#include <string>
#include <vector>

namespace rondo::test {

// C++ writes 1234.5 as "1~2~3~4^5", and C as "1234" + kCPoint + "5". Real locales group three digits, with
// marks that also occur in correct text.
inline constexpr char kGroupMark = '~', kPointMark = '^';
inline constexpr const char* kCPoint = "\u066b";  // two bytes, as in Persian

class MarkedNumbers : public std::numpunct<char> {
  char do_thousands_sep() const override { return kGroupMark; }
  char do_decimal_point() const override { return kPointMark; }
  std::string do_grouping() const override { return "\1"; }
};

// While it lives, it is the process's locale of C++, as by std::locale::global(), and of C's numbers, as by
// setlocale(). No other thread may set one.
class MarkedLocale {
 public:
  MarkedLocale()
      : before_(std::locale::global(std::locale(std::locale::classic(), new MarkedNumbers))),
        in_c_(set_in_c()) {}
  ~MarkedLocale() {
    std::locale::global(before_);
    std::setlocale(LC_NUMERIC, "C");
  }
  MarkedLocale(const MarkedLocale&) = delete;
  MarkedLocale& operator=(const MarkedLocale&) = delete;

  bool in_c() const { return in_c_; }  // false where the C library does not read glibc's format

 private:
  // Sets C's locale from a file in the format of glibc's compiled locales. (setlocale() cannot be given the
  // numbers themselves.)
  static bool set_in_c() {
    std::string folder = (std::filesystem::temp_directory_path() / "rondo-locale-XXXXXX").string();
    if (!mkdtemp(folder.data())) return false;
    std::filesystem::create_directory(folder + "/marked");
    std::ofstream(folder + "/marked/LC_NUMERIC", std::ios::binary) << compiled_numbers();
    const char* before = getenv("LOCPATH");
    const std::string path = before ? before : "";
    setenv("LOCPATH", folder.c_str(), 1);
    const bool set = std::setlocale(LC_NUMERIC, "marked") != nullptr;
    before ? setenv("LOCPATH", path.c_str(), 1) : unsetenv("LOCPATH");
    std::filesystem::remove_all(folder);
    return set && kCPoint == std::string(std::localeconv()->decimal_point);
  }

  // The category's magic number, the number of entries, their offsets, and the entries.
  static std::string compiled_numbers() {
    constexpr uint32_t kMagic = 0x20031115, kEntries = 6;
    std::string data;
    std::vector<uint32_t> words = {kMagic ^ LC_NUMERIC, kEntries};
    const auto text = [&](const std::string& entry) {
      words.push_back(static_cast<uint32_t>(4 * (2 + kEntries) + data.size()));
      data += entry + '\0';
    };
    const auto character = [&](char32_t entry) {
      data.resize((data.size() + 3) / 4 * 4);
      words.push_back(static_cast<uint32_t>(4 * (2 + kEntries) + data.size()));
      data.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
    };
    text(kCPoint);
    text({kGroupMark});
    text("\1");
    character(0x66b);
    character(kGroupMark);
    text("UTF-8");
    return std::string(reinterpret_cast<const char*>(words.data()), 4 * words.size()) + data;
  }

  const std::locale before_;
  const bool in_c_;
};

// The first place in `text` that has a mark within a number, with its surroundings, or an empty string.
inline std::string marked_number(const std::string& text) {
  const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
  const std::string point = kCPoint;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const size_t length = text[i] == kGroupMark || text[i] == kPointMark ? 1
                          : text.compare(i, point.size(), point) == 0    ? point.size()
                                                                         : 0;
    if (length > 0 && is_digit(text[i - 1]) && i + length < text.size() && is_digit(text[i + length]))
      return text.substr(i < 40 ? 0 : i - 40, 80);
  }
  return "";
}

}  // namespace rondo::test
