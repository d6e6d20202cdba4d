// Readers of option values. An invalid value throws a bad_argument Error with one line that names the option,
// the value and the valid values.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/parse.h>
#include <rondo/tools/rondo/support/command.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace rondo::program {

template <class Integer>
Integer read_integer(const std::string& option, const std::string& text, Integer low, Integer high) {
  const std::optional<Integer> value = read_number<Integer>(text);
  if (value && *value >= low && *value <= high) return *value;
  throw Error(bad_argument(option, " is '", text, "', must be a whole number from ", low, " to ", high));
}

inline constexpr double kMostSeconds = 3600;

inline double read_seconds(const std::string& option, const std::string& text) {
  const std::optional<double> value = read_number<double>(text);
  if (value && *value > 0 && *value <= kMostSeconds) return *value;  // false for NaN
  throw Error(bad_argument(option, " is '", text, "', must be a number of seconds above 0 and at most ",
                           kMostSeconds));
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

// Runs `read`, and puts the option before the message of a bad_argument Error: the library's messages do not
// name options.
template <class Read>
auto naming(const std::string& option, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.status().code() != StatusCode::bad_argument) throw;
    throw Error(bad_argument(option, ": ", error.status().message()));
  }
}

inline std::string read_path(const std::string& option, const std::string& text) {
  if (!text.empty()) return text;
  throw Error(bad_argument(option, " is empty, must be a path"));
}

// The elements of "1,2,4", none of them empty.
inline std::vector<std::string> read_list(const std::string& option, const std::string& text) {
  std::vector<std::string> list = split(text, ',');
  if (std::ranges::find(list, "") == list.end()) return list;
  throw Error(bad_argument(option, " is '", text, "', must have no empty element"));
}

// "0.49,0.48,0.45"
inline std::vector<float> read_numbers(const std::string& option, const std::string& text) {
  std::vector<float> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::optional<float> number = read_number<float>(text.substr(begin, end - begin));
    if (!number || !std::isfinite(*number))
      throw Error(bad_argument(option, " is '", text, "', must be numbers separated by commas"));
    numbers.push_back(*number);
    begin = end + 1;
  }
  return numbers;
}

// Of the commands that read images.
inline constexpr const char* kDataHelp =
    "Folder of IDX files with images of any size and their labels, gzipped or not [the environment variable "
    "RONDO_DATA, else the installed Fashion-MNIST]";

inline constexpr int kMostGroup = 64, kMostTimeout = 24 * 3600;  // ranks; seconds

// "lenet, resnet18 or mlp"
inline std::string any_of(const std::vector<std::string>& words) {
  std::string names;
  for (size_t i = 0; i < words.size(); ++i)
    names += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return names;
}

// Reads one of the words.
inline std::string read_word(const std::string& option, const std::string& text,
                             const std::vector<std::string>& words) {
  if (std::ranges::find(words, text) != words.end()) return text;
  throw Error(bad_argument(option, " is '", text, "', must be ", any_of(words)));
}

// Reads the name of one of the values.
template <class Value>
Value read_name(const std::string& option, const std::string& text, const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(name_of(value));
  const std::string name = read_word(option, text, names);
  return values[static_cast<size_t>(std::ranges::find(names, name) - names.begin())];
}

inline Algorithm read_algorithm(const std::string& text) {
  return read_name<Algorithm>("--algorithm", text,
                              {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::root});
}

// Each of these adds an option whose value is read into `to`. Messages name it by its first spelling.
namespace detail {
inline std::string first_of(const std::string& names) { return names.substr(0, names.find(',')); }

template <class T>
struct Number {
  using type = T;
};
template <class T>
struct Number<std::optional<T>> {
  using type = T;
};
}  // namespace detail

template <class To, class Integer = typename detail::Number<To>::type>
Option add_integer(const Command& command, const std::string& names, const std::string& value,
                   const std::string& help, To& to, std::type_identity_t<Integer> low,
                   std::type_identity_t<Integer> high) {
  return command.add(names, value, help, [=, &to, name = detail::first_of(names)](const std::string& s) {
    to = read_integer<Integer>(name, s, low, high);
  });
}

inline Option add_numbers(const Command& command, const std::string& name, const std::string& help,
                          std::vector<float>& to) {
  return command.add(name, "LIST", help, [&to, name](const std::string& s) { to = read_numbers(name, s); });
}

// --mean, of images whose values are from 0 to 1.
inline Option add_means(const Command& command, const std::string& help, std::vector<float>& to) {
  return command.add("--mean", "LIST", help, [&to](const std::string& s) {
    to = read_numbers("--mean", s);
    if (std::ranges::any_of(to, [](float value) { return value < 0 || value > 1; }))
      throw Error(bad_argument("--mean is '", s, "', must be from 0 to 1, as the values of the images"));
  });
}

template <class To>
Option add_path(const Command& command, const std::string& names, const std::string& value,
                const std::string& help, To& to) {
  return command.add(names, value, help, [&to, name = detail::first_of(names)](const std::string& s) {
    to = read_path(name, s);
  });
}

inline Option add_word(const Command& command, const std::string& names, const std::string& value,
                       const std::string& help, std::string& to, const std::vector<std::string>& words) {
  return command.add(names, value, help, [words, &to, name = detail::first_of(names)](const std::string& s) {
    to = read_word(name, s, words);
  });
}

template <class To, class Value, size_t n>
Option add_name(const Command& command, const std::string& names, const std::string& value,
                const std::string& help, To& to, const Value (&values)[n]) {
  return command.add(names, value, help,
                     [all = std::vector<Value>(values, values + n), &to, name = detail::first_of(names)](
                         const std::string& s) { to = read_name(name, s, all); });
}

}  // namespace rondo::program
