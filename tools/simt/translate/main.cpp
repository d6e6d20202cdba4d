// simt-translate INPUT OUTPUT: translates a preprocessed CUDA C++ source ("-" is the standard stream). Exit
// code 1, and a message with file and line, if something in it can't be translated.
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "translate.h"

namespace {

bool read(const char* path, std::string& text) {
  std::FILE* const file = std::string_view(path) == "-" ? stdin : std::fopen(path, "rb");
  if (!file) return false;
  char buffer[65536];
  while (const size_t bytes = std::fread(buffer, 1, sizeof(buffer), file)) text.append(buffer, bytes);
  const bool complete = std::ferror(file) == 0;
  return (file == stdin || std::fclose(file) == 0) && complete;
}

bool write(const char* path, const std::string& text) {
  std::FILE* const file = std::string_view(path) == "-" ? stdout : std::fopen(path, "wb");
  if (!file) return false;
  const bool complete = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && complete;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: simt-translate INPUT OUTPUT; the input is what g++ -E makes of a source\n");
    return 2;
  }
  std::string text;
  if (!read(argv[1], text)) {
    std::fprintf(stderr, "simt-translate: '%s' can't be read\n", argv[1]);
    return 1;
  }
  const simt::translate::Source source(std::move(text));
  const simt::translate::Translation translation = simt::translate::translate(source);
  for (const auto& problem : translation.problems)
    std::fprintf(stderr, "%s:%d: error: %s\n", problem.file.c_str(), problem.line, problem.message.c_str());
  if (!translation.problems.empty()) return 1;
  if (write(argv[2], translation.text)) return 0;
  std::fprintf(stderr, "simt-translate: '%s' can't be written\n", argv[2]);
  return 1;
}
