// Counts with their nouns, for messages.
#pragma once

#include <rondo/kernels/core/text.h>

#include <concepts>
#include <string>

namespace rondo {

// "1 byte", "2 bytes"; counted(2, "entry", "entries") is "2 entries".
std::string counted(std::integral auto count, const std::string& one, const std::string& many) {
  return exact_text(count) + " " + (count == 1 ? one : many);
}
std::string counted(std::integral auto count, const std::string& one) {
  return counted(count, one, one + "s");
}

// "there is 1 label", "there are 2 labels"
std::string there_are(std::integral auto count, const auto&... nouns) {
  return (count == 1 ? "there is " : "there are ") + counted(count, nouns...);
}

}  // namespace rondo
