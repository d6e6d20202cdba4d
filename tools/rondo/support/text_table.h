// Columns that line up.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

using TextRow = std::vector<std::string>;

// Rows of one length. The first `words` columns are words and begin at the left; figures end at the right.
void show_table(const std::vector<TextRow>& rows, std::ostream& out, size_t words);

}  // namespace rondo::program
