// The race detector: the barrier of a grid, variables of device code.
#include <cooperative_groups.h>

#include "race_check.h"

using namespace race_check;

int simt_first_total = 0;
SIMT_DEVICE_VARIABLE(total)

namespace {

// Each thread writes, and reads what a thread of another block wrote.
__global__ void exchange(int* values, bool meet) {
  const auto grid = cooperative_groups::this_grid();
  const auto rank = grid.thread_rank(), other = grid.num_threads() - 1 - rank;
  values[rank] = 1;                                              // exchange: write
  if (meet)
    grid.sync();
  else
    __syncthreads();
  use(values[other]);                                            // exchange: read
}
__global__ void add_up(bool atomic) {
  if (threadIdx.x != 0) return;
  if (atomic)
    atomicAdd(&total, 1);
  else
    total = total + 1;                                           // add_up: both
}

using RaceCheckGrid = RaceCheck;

void launch_exchange(int* values, bool meet) {
  void* arguments[] = {&values, &meet};
  ASSERT_EQ(cudaLaunchCooperativeKernel(exchange, 2, 32, arguments), cudaSuccess);
  ++launches;
}

TEST_F(RaceCheckGrid, TheBarrierOrdersBlocks) {
  int* values = allocate<int>(64);
  expect_silent([&] { launch_exchange(values, true); });
  const Finding finding =
      expect_race("exchange: write", "exchange: read", [&] { launch_exchange(values, false); });
  EXPECT_TRUE(says(finding, "block")) << finding.text;
  CUDA_OK(cudaFree(values));
}

TEST_F(RaceCheckGrid, VariablesAreGlobalMemory) {
  expect_silent([] { launch(4, 32, 0, nullptr, add_up, true); });
  const std::vector<Finding> findings = findings_of([] { launch(4, 32, 0, nullptr, add_up, false); });
  ASSERT_FALSE(findings.empty());
  for (const Finding& finding : findings) EXPECT_EQ(line(finding.access), line_of("add_up: both"));
}

}  // namespace
