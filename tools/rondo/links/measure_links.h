// Measures a machine's devices and links. Everything is timed on the device, except what the host needs to ask.
#pragma once

#include <rondo/tools/rondo/links/link_table.h>

#include <vector>

namespace rondo::program {

struct LinkEffort {
  int64_t copy_bytes = int64_t{32} << 20;     // of a large copy
  int64_t memory_bytes = int64_t{256} << 20;  // of a copy that no cache holds
  int repeats = 5;                            // the best counts: what the machine can do
};

// All pairs of the different devices among `devices`. Throws rondo::Error.
LinkTable measure_links(const std::vector<int>& devices, const LinkEffort& effort);

// What a collective operation needs to know of ranks on `devices` that stand around the ring in `order`, in a
// fraction of a second: the links of the ring, and the first device's latencies and memory.
LinkConstants measure_constants(const std::vector<int>& devices, const std::vector<int>& order);

}  // namespace rondo::program
