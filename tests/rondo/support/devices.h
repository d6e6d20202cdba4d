// --devices for tests of the program on any machine.
#pragma once

#include <rondo/kernels/runtime/platform.h>

#include <string>

namespace rondo::test {

// The value of --devices for `ranks` ranks: their number, or on a machine with fewer devices a list that
// repeats its devices, as in "0,0".
inline std::string devices(int ranks) {
  const int present = device_count();
  if (present >= ranks) return std::to_string(ranks);
  std::string list = "0";
  for (int rank = 1; rank < ranks; ++rank) list += "," + std::to_string(rank % present);
  return list;
}

}  // namespace rondo::test
