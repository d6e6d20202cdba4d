// Readers of option values. An invalid value throws a bad_argument Error with one line that names the option,
// the value and the valid values.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/parse.h>
#include <rondo/tools/rondo/support/command.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

template <class Integer>
Integer read_integer(const std::string& option, const std::string& text, Integer low, Integer high) {
  const std::optional<Integer> value = read_number<Integer>(text);
  if (value && *value >= low && *value <= high) return *value;
  throw Error(bad_argument(option, " is '", text, "', must be a whole number from ", low, " to ", high));
}

inline constexpr float kMaxLearningRate = 1000;  // larger values are typing errors

template <class Real>
Real read_learning_rate(const std::string& text) {
  const std::optional<Real> value = read_number<Real>(text);
  // NaN fails both. The kernels take a float, so a value that rounds to 0 as a float is refused.
  if (value && static_cast<float>(*value) > 0 && *value <= kMaxLearningRate) return *value;
  throw Error(bad_argument("--lr is '", text, "', must be a number above 0 and at most ", kMaxLearningRate,
                           " that a float can hold"));
}

inline std::string read_path(const std::string& option, const std::string& text) {
  if (!text.empty()) return text;
  throw Error(bad_argument(option, " is empty, must be a path"));
}

inline int read_group(const std::string& text) { return read_integer<int>("--group", text, 1, 64); }

// Seconds.
inline int read_timeout(const std::string& option, const std::string& text) {
  constexpr int kMost = 24 * 3600;
  return read_integer<int>(option, text, 1, kMost);
}

// Reads one of the words.
inline std::string read_word(const std::string& option, const std::string& text,
                             const std::vector<std::string>& words) {
  std::string names;
  for (size_t i = 0; i < words.size(); ++i) {
    if (text == words[i]) return text;
    names += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  throw Error(bad_argument(option, " is '", text, "', must be ", names));
}

// Reads the name of one of the values.
template <class Value, size_t n>
Value read_name(const std::string& option, const std::string& text, const Value (&values)[n]) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(name_of(value));
  const std::string name = read_word(option, text, names);
  return values[std::ranges::find(names, name) - names.begin()];
}

inline Algorithm read_algorithm(const std::string& text) {
  return read_name("--algorithm", text,
                   {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::root});
}

}  // namespace rondo::program
