#include "report.h"

#include <algorithm>
#include <cstdio>

namespace simt {

std::string text(const Place& place) {
  return std::string(place.file_name()) + ":" + std::to_string(place.line()) + " (" + place.function_name() +
         ")";
}

std::string text(uint3 c) {
  char digits[48];
  std::snprintf(digits, sizeof digits, "(%u, %u, %u)", c.x, c.y, c.z);
  return digits;
}

std::string hexadecimal(unsigned value) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "0x%08x", value);
  return digits;
}

std::string WaitReport::text(unsigned threads, unsigned exited, unsigned not_started) const {
  std::string all;
  for (auto [what, ranks] : groups_) {
    std::sort(ranks.begin(), ranks.end());
    all += all.empty() ? "Threads " : "; threads ";
    for (size_t begin = 0, end; begin < ranks.size(); begin = end) {
      for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
      if (begin != 0) all += ", ";
      all += std::to_string(ranks[begin]);
      if (end - begin > 1) all.append("-").append(std::to_string(ranks[end - 1]));
    }
    all += " wait " + what;
  }
  all +=
      (all.empty() ? "" : "; ") + std::to_string(exited) + " of " + std::to_string(threads) + " have exited";
  if (not_started) all += ", " + std::to_string(not_started) + " have not started";
  return all + ".";
}

}  // namespace simt
