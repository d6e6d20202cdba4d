// What a warp that makes no progress waits for.
#pragma once

#include <cstdint>

#include "block.h"
#include "warp.h"

namespace ptx {

// In the order of how likely the warp goes on.
enum class Waiting : uint8_t {
  in_cluster,  // only for barriers and mbarriers, which other warps of its cluster complete
  for_memory,  // it repeats instructions that read memory or sleep: another block or the host may release it
  counting,    // like for_memory, but the registers change, as those of a loop that counts its attempts
  works,       // none of these
};

// Executes instructions of a live warp one at a time, until their state recurs. If memory stays as it is, the
// warp then repeats them without an end. Throws Fault.
Waiting follow(Warp& warp, const Code& code);

}  // namespace ptx
