#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>

namespace rondo::program {

void show_table(const std::vector<TextRow>& rows, std::ostream& out, size_t words) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const TextRow& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const TextRow& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += (i == 0 ? "" : "  ") + (i < words ? left(row[i], widths[i]) : right(row[i], widths[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

}  // namespace rondo::program
