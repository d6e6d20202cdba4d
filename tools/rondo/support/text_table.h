// Tables of aligned text columns.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

using TextRow = std::vector<std::string>;

// All rows have the same length. The first `words` columns are aligned left, the others right. Lines do not
// end with spaces.
void show_table(const std::vector<TextRow>& rows, std::ostream& out, size_t words);

}  // namespace rondo::program
