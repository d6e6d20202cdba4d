// What the exercises share.
#pragma once

#include <rondo/kernels/core/status.h>

#include <iostream>

namespace rondo::test {

// Prints a line between GoogleTest's: what an exercise observed.
template <class... Parts>
void show(const Parts&... parts) {
  std::cout << "             " << concat(parts...) << '\n';
}

}  // namespace rondo::test
