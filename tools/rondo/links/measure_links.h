// Measures a machine's devices and links. All times are taken on the device, except for the host's time per
// call.
#pragma once

#include <rondo/tools/rondo/links/link_table.h>

#include <vector>

namespace rondo::program {

struct LinkEffort {
  int64_t copy_bytes = int64_t{32} << 20;     // of a large copy
  int64_t memory_bytes = int64_t{256} << 20;  // of a copy that exceeds all caches
  int repeats = 5;                            // the best one counts
};

// Measures all pairs of the different devices in `devices`. Throws rondo::Error.
LinkTable measure_links(const std::vector<int>& devices, const LinkEffort& effort);

// The constants of a collective operation on `devices` in the ring order `order`, in a fraction of a second:
// from the links of the ring, and the latencies and memory of the first device.
LinkConstants measure_constants(const std::vector<int>& devices, const std::vector<int>& order);

}  // namespace rondo::program
