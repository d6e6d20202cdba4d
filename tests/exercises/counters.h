// The counters of a kernel on the executor, for the exercises whose results are right and whose accesses are
// slow. Needs a build with RONDO_OBSERVE.
#pragma once

#include <gtest/gtest.h>
#include <simt/observe.h>

namespace rondo::test {

class CountersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE: the preset observe";
  }
};

// The sum over the accesses of one kind to one memory, of all kernels that `work` launches.
template <class Work>
simt::AccessCounts count(simt::AccessKind kind, simt::AccessSpace space, Work work) {
  EXPECT_EQ(simt::start_profile(), cudaSuccess);
  work();
  simt::AccessCounts sum;
  for (const simt::KernelProfile& kernel : simt::stop_profile())
    for (const simt::AccessCounts& access : kernel.accesses) {
      if (access.kind != kind || access.space != space) continue;
      sum.requests += access.requests;
      sum.sectors += access.sectors;
      sum.least_sectors += access.least_sectors;
      sum.wavefronts += access.wavefronts;
      sum.least_wavefronts += access.least_wavefronts;
    }
  return sum;
}

}  // namespace rondo::test
