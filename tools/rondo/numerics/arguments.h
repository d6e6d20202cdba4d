// Options of `rondo numerics`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <vector>

namespace rondo::program {

struct NumericsArguments {
  std::vector<int64_t> k = {1, 8, 16, 32, 64, 512, 4096};  // lengths of the sums
  int64_t size = 96;                                       // rows and columns of the results
  uint64_t seed = 0;
};

void add_numerics(Program& program);

}  // namespace rondo::program
