// Simulated links between devices, for tests on the CPU executor.
#pragma once

#include <gtest/gtest.h>
#include <rondo/kernels/runtime/platform.h>
#include <simt/faults.h>

namespace rondo::test {

// Sets the links between all devices, in both directions.
inline void set_all_links(simt::PeerAccess access) {
  const int devices = device_count();
  for (int a = 0; a < devices; ++a)
    for (int b = 0; b < devices; ++b)
      if (a != b) {
        ASSERT_EQ(simt::set_peer_access(a, b, access), cudaSuccess);
      }
}

}  // namespace rondo::test
