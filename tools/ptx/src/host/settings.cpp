#include "settings.h"

#include <simt/settings.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace ptx {
namespace {

struct Word {
  std::string_view word;  // "name:" stands for all words that begin so
  std::function<void(std::string_view rest)> apply;
  std::string_view rest = "";  // what follows "name:", for the message
};

[[noreturn]] void refuse(const char* name, const char* text, const std::string& problem) {
  std::fprintf(stderr, "ptx: %s=%s: %s\n", name, text, problem.c_str());
  std::fflush(nullptr);
  std::_Exit(2);
}

// Applies the words of a variable: a list with commas, of these.
bool read_words(const char* name, std::span<const Word> words) {
  const char* const text = std::getenv(name);
  if (!text || !*text) return false;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    bool known = false;
    std::string all;
    for (const Word& one : words) {
      all += (all.empty() ? "" : ", ") + std::string(one.word) + std::string(one.rest);
      const bool open = one.word.ends_with(':');
      if (open ? !word.starts_with(one.word) || word == one.word : word != one.word) continue;
      one.apply(word.substr(one.word.size()));
      known = true;
    }
    if (known) continue;
    refuse(name, text, "'" + std::string(word) + "' is not one of: " + all);
  }
  return true;
}

void read_seconds(const char* name, std::chrono::seconds* seconds) {
  const char* const text = std::getenv(name);
  if (!text || !*text) return;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, problem] = std::from_chars(text, end, value);
  if (problem != std::errc{} || stop != end || value < 1 || value > 1'000'000)
    refuse(name, text, "not a whole number of seconds from 1 to 1000000");
  *seconds = std::chrono::seconds(value);
}

Settings from_environment() {
  Settings s;
  const Word sums[] = {{"nearest", [&](std::string_view) { s.tensor_sums = TensorSums::nearest; }},
                       {"truncated", [&](std::string_view) { s.tensor_sums = TensorSums::truncated; }},
                       {"aligned", [&](std::string_view) { s.tensor_sums = TensorSums::aligned; }}};
  const Word ties[] = {{"even", [&](std::string_view) { s.tensor_ties = TensorTies::even; }},
                       {"away", [&](std::string_view) { s.tensor_ties = TensorTies::away; }}};
  const Word allowed[] = {
      {"unwritten", [&](std::string_view) { s.checks.unwritten = false; }},
      {"unwritten:", [&](std::string_view name) { s.unwritten_kernels.emplace_back(name); }, "NAME"},
      {"proxies", [&](std::string_view) { s.checks.proxies = false; }},
      {"exited_blocks", [&](std::string_view) { s.checks.exited_blocks = false; }},
      {"unwaited_stores", [&](std::string_view) { s.checks.unwaited_stores = false; }}};
  const Word checked[] = {{"races", [&](std::string_view) { s.checks.races = true; }},
                          {"none", [](std::string_view) {}}};
  read_words("PTX_CHECK", checked);
  read_words("PTX_TENSOR_SUMS", sums);
  read_words("PTX_TENSOR_TIES", ties);
  read_words("PTX_ALLOW", allowed);
  if (const char* const file = std::getenv("PTX_REPORT")) s.report = file;
  read_seconds("PTX_PATIENCE", &s.patience);
  return s;
}

std::optional<Lateness> late_from_environment() {
  Lateness late;
  const Word kinds[] = {{"copies", [&](std::string_view) { late.copies = true; }},
                        {"bulk", [&](std::string_view) { late.bulk = true; }},
                        {"products", [&](std::string_view) { late.products = true; }},
                        {"none", [](std::string_view) {}}};
  return read_words("PTX_LATE", kinds) ? std::optional(late) : std::nullopt;
}

}  // namespace

const Settings& settings() {
  static const Settings read = from_environment();
  return read;
}

Lateness lateness() {
  static const std::optional<Lateness> given = late_from_environment();
  const bool all = simt::settings().late_copies;
  Lateness late = given.value_or(Lateness{all, all, all, false});
  late.drawn = simt::settings().seed.has_value();
  return late;
}

}  // namespace ptx
