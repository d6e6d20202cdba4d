// The machine of a measurement: its name, and the largest cache between a device and its memory.
#pragma once

#include <cstdint>
#include <string>

namespace rondo::bench {

// The model of the current device: of the GPU, or on the CPU executor of the processor.
std::string machine_name();

struct LastLevelCache {
  int64_t bytes = 0;
  std::string source;  // where the size is from
};

// Of the current device. A GPU: the L2 cache, as CUDA reports it. The CPU executor: the caches of the highest
// level of all processors that are online, as Linux reports them; 64 MiB where it does not.
LastLevelCache last_level_cache();

// The same for a folder like /sys/devices/system/cpu. No bytes if it has no cache.
LastLevelCache cpu_last_level_cache(const std::string& folder);

}  // namespace rondo::bench
