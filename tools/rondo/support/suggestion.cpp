#include <rondo/tools/rondo/support/suggestion.h>

#include <algorithm>
#include <optional>

namespace rondo::program {
namespace {

std::string normalised(const std::string& word) {
  std::string text = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  for (char& letter : text)
    letter = letter == '_' ? '-' : letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
  return text;
}

// "learning-rate": "lr". Empty for a single word.
std::string initials(const std::string& text) {
  std::string letters;
  for (size_t i = 0; i < text.size(); ++i)
    if (i == 0 || text[i - 1] == '-') letters += text[i];
  return letters.size() > 1 ? letters : "";
}

// The number of insertions, deletions, replacements and swaps of neighbours between the two: Damerau, "A
// technique for computer detection and correction of spelling errors", 1964.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> least(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const size_t replaced = least[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      least[i][j] = std::min({replaced, least[i - 1][j] + 1, least[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  return least[a.size()][b.size()];
}

// 0 for equal words; nothing for words that are not similar.
std::optional<size_t> difference(const std::string& a, const std::string& b) {
  constexpr size_t kShortestBeginning = 3;
  if (a.empty() || b.empty()) return std::nullopt;
  if (a == b) return 0;
  if (a == initials(b) || b == initials(a)) return 1;
  const size_t shorter = std::min(a.size(), b.size()), letters = distance(a, b);
  if (letters <= shorter / 3) return 1 + letters;
  if (shorter >= kShortestBeginning && (a.starts_with(b) || b.starts_with(a))) return 1 + letters;
  return std::nullopt;
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::optional<size_t> least;
  for (const std::string& one : known) {
    const std::optional<size_t> found = difference(normalised(word), normalised(one));
    if (!found || (least && *least <= *found)) continue;
    least = found;
    best = one;
  }
  return best;
}

}  // namespace rondo::program
