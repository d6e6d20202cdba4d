// A warp executes instructions.
#pragma once

#include <cstdint>

#include "block.h"
#include "warp.h"

namespace ptx {

enum class Pause {
  polls,    // its lanes poll for something
  slice,    // has executed `slice` instructions
  blocked,  // its lanes wait at barriers
  done,     // all have exited
};

// Executes up to `slice` instructions; `*executed` becomes their number. Throws Fault.
Pause execute(Warp& warp, const Code& code, int64_t slice, int64_t* executed);

}  // namespace ptx
