// Transfer: the memory that a copy or a fill accesses, for the race detector.
#pragma once

#include <cstddef>

namespace simt {

struct Transfer {
  const char* name = "";  // in reports: "a copy"
  void* to = nullptr;
  const void* from = nullptr;  // null: a fill
  size_t to_pitch = 0, from_pitch = 0;
  size_t width = 0, height = 1;
};

}  // namespace simt
