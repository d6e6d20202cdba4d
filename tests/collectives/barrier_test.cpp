// barrier(): later work on any stream starts after the earlier work of all streams.
#include <rondo/tests/collectives/communicator_fixture.h>

#include <atomic>

namespace rondo::test {
namespace {

// Each stream increments a counter before the barrier and reads it after the barrier.
TEST(Barrier, NoStreamContinuesBeforeAllHaveArrived) {
  struct Visit {
    std::atomic<int>* arrived;
    int seen = -1;
  };
  for (uint64_t seed = 0; seed < 40; ++seed)
    for (const int ranks : {1, 2, 5}) {
      CommunicatorFixture fixture(place(ranks, seed % 2 ? Placement::spread : Placement::pairs));
      std::atomic<int> arrived = 0;
      std::vector<Visit> visits(static_cast<size_t>(ranks), {&arrived});
      RandomOrder order(seed);
      for (const cudaStream_t stream : fixture.handles)
        ASSERT_EQ(cudaLaunchHostFunc(
                      stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &arrived),
                  cudaSuccess);
      ASSERT_TRUE(ok(barrier(fixture.communicator, fixture.handles)));
      for (size_t rank = 0; rank < visits.size(); ++rank)
        ASSERT_EQ(cudaLaunchHostFunc(
                      fixture.handles[rank],
                      [](void* visit) {
                        auto& v = *static_cast<Visit*>(visit);
                        v.seen = v.arrived->load();
                      },
                      &visits[rank]),
                  cudaSuccess);
      fixture.synchronize();
      for (const Visit& visit : visits) ASSERT_EQ(visit.seen, ranks) << "seed " << seed;
    }
}

}  // namespace
}  // namespace rondo::test
