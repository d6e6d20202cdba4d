// The producer of warp-specialized kernels (run_producer()) ends after the consumers have released all that
// it loaded.
#include <gtest/gtest.h>

#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/kernels/gemm/wgmma/warp_specialized.cuh>

namespace rondo::test {
namespace {

using Tile = WarpSpecializedTile<__nv_bfloat16, 64, 16, 1, 3>;
using State = PipelineState<Tile::kStages>;
struct Shared : WgmmaShared<Tile> {
  unsigned releases;  // by consumer warps
};

// Stores how many releases the producer's warp sees at its end.
__global__ __launch_bounds__(Tile::kThreads) void ring_kernel(int k_tiles, unsigned* seen) {
  auto& shared = shared_memory<Shared>();
  if (threadIdx.x == 0) shared.releases = 0;
  init_ring(shared);
  if (threadIdx.x < kWarpgroup) {
    if (threadIdx.x >= 32) return;
    run_producer(shared, [&](State& state) {
      for (int i = 0; i < k_tiles; ++i, state.advance()) {
        ptx::mbarrier_wait(&shared.empty[state.stage], state.parity ^ 1);
        ptx::mbarrier_arrive(&shared.full[state.stage]);
      }
    });
    __syncwarp();
    if (threadIdx.x == 0) *seen = atomicAdd(&shared.releases, 0u);
    return;
  }
  State state;
  for (int i = 0; i < k_tiles; ++i, state.advance()) {
    ptx::mbarrier_wait(&shared.full[state.stage], state.parity);
    if (threadIdx.x % 32 == 0) atomicAdd(&shared.releases, 1u);
    release_stage(shared, state.stage);
  }
}

TEST(Producer, EndsAfterTheLastRelease) {
  if (!check_wgmma("").ok()) GTEST_SKIP() << "the device has no wgmma";
  const Stream stream;
  GuardedBuffer<unsigned> seen(1);
  const LaunchShape shape = {.block_x = Tile::kThreads, .shared_bytes = sizeof(Shared)};
  for (const int k_tiles : {0, 1, 2, 3, 4, 7, 12}) {
    ASSERT_TRUE(ok(launch("ring", shape, stream, ring_kernel, k_tiles, seen.data())));
    EXPECT_EQ(seen.download().front(), 4u * static_cast<unsigned>(k_tiles)) << k_tiles;
  }
}

}  // namespace
}  // namespace rondo::test
