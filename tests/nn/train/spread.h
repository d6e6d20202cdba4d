// Ranks on the devices of the machine.
#pragma once

#include <rondo/kernels/runtime/platform.h>

#include <vector>

namespace rondo::test {

// Spreads ranks over the available devices, round robin.
inline std::vector<int> spread(int ranks) {
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % device_count());
  return devices;
}

}  // namespace rondo::test
