// simt-translate INPUT OUTPUT: translates a preprocessed CUDA C++ source ("-" is the standard stream). Exit
// code 1, and a message with file and line, if something in it can't be translated.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>

#include "translate.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: simt-translate INPUT OUTPUT; the input is what g++ -E makes of a source\n");
    return 2;
  }
  const std::string input = argv[1], output = argv[2];
  std::string text;
  if (input == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(input, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    if (!file) {
      std::fprintf(stderr, "simt-translate: '%s' can't be read\n", input.c_str());
      return 1;
    }
  }
  const simt::translate::Source source(std::move(text));
  const simt::translate::Translation translation = simt::translate::translate(source);
  for (const auto& problem : translation.problems)
    std::fprintf(stderr, "%s:%d: error: %s\n", problem.file.c_str(), problem.line, problem.message.c_str());
  if (!translation.problems.empty()) return 1;
  if (output == "-") {
    std::cout << translation.text << std::flush;
    return std::cout ? 0 : 1;
  }
  std::ofstream file(output, std::ios::binary);
  file << translation.text << std::flush;
  if (file) return 0;
  std::fprintf(stderr, "simt-translate: '%s' can't be written\n", output.c_str());
  return 1;
}
