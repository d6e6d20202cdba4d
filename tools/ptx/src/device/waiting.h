// What a warp that makes no progress waits for.
#pragma once

#include <cstdint>

#include "block.h"
#include "warp.h"

namespace ptx {

// In the order of how likely the warp goes on.
enum class Waiting : uint8_t {
  in_cluster,  // only for barriers and mbarriers, which other warps of its cluster complete
  for_memory,  // it repeats other instructions: if they read memory, another block or the host may release it
  counting,    // it reads memory in a loop whose registers change, as those of one that counts its attempts
  works,       // anything else, as far as it was followed
};

// Executes instructions of a live warp one at a time, its lanes in turns, until their state recurs. If memory
// stays as it is, the warp then repeats them without an end. Throws Fault.
Waiting follow(Warp& warp, const Code& code);

}  // namespace ptx
