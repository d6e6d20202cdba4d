// Writes tokens with edits, and keeps the line of each by blank lines and line markers.
#pragma once

#include <string>
#include <vector>

#include "tokens.h"

namespace simt::translate {

struct Edit {
  bool erased = false;
  std::string before, after;  // on the line of the token
};

// edits[i] belongs to source.tokens[i].
std::string write(const Source& source, const std::vector<Edit>& edits);

}  // namespace simt::translate
