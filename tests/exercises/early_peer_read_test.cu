// An exercise: a read of a peer before it is ready.
//
// Each rank writes a value of every step to its outbox, and reads the outbox of the other rank. Two orders
// are needed. The reader must wait until the value is written, and the writer must wait until the previous
// value has been read. The second one is forgotten more often, because a single step does not need it.
//
// Questions.
//   1. Why is cudaMemcpyPeerAsync() not ordered with the work of the device that it reads from?
//   2. With two outboxes per rank, used in turn, which wait can be enqueued later?
//   3. Why can the wait for the reader not be left out if the ranks are synchronised after every second step?

#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/kernels/core/launch.cuh>

#include <array>
#include <vector>

namespace rondo::test {
namespace {

constexpr int kSteps = 3;

enum class Waits {
  none,               // wrong on purpose
  for_writer,         // wrong on purpose: the outbox may be overwritten before it has been read
  for_writer_reader,  // right
};

__global__ void write(float* outbox, float value) { *outbox = value; }

float value_of(int rank, int step) { return static_cast<float>(10 * (step + 1) + rank); }

struct Rank {
  int device;
  Stream stream;
  Event written, read;
  Buffer<float> outbox, received;
  explicit Rank(int number) : device(number), outbox(std::vector<float>{0}), received(kSteps) {}
};

// The number of received values that are not those of their step.
int wrong_values(Waits waits, uint64_t seed) {
  std::vector<Rank> ranks;
  for (int device = 0; device < 2; ++device) {
    const DeviceScope scope(device);
    throw_if_error(load("write", write));
    ranks.emplace_back(device);
  }
  const RandomOrder order(seed);
  for (int step = 0; step < kSteps; ++step) {
    for (Rank& rank : ranks) {
      const Rank& peer = ranks[static_cast<size_t>(1 - rank.device)];
      const DeviceScope scope(rank.device);
      if (waits == Waits::for_writer_reader && step > 0)
        RONDO_CUDA_THROW(cudaStreamWaitEvent(rank.stream, peer.read));
      throw_if_error(
          launch("write", {}, rank.stream, write, rank.outbox.data(), value_of(rank.device, step)));
      RONDO_CUDA_THROW(cudaEventRecord(rank.written, rank.stream));
    }
    for (Rank& rank : ranks) {
      const Rank& peer = ranks[static_cast<size_t>(1 - rank.device)];
      const DeviceScope scope(rank.device);
      if (waits != Waits::none) RONDO_CUDA_THROW(cudaStreamWaitEvent(rank.stream, peer.written));
      RONDO_CUDA_THROW(cudaMemcpyPeerAsync(rank.received.data() + step, rank.device, peer.outbox.data(),
                                           peer.device, sizeof(float), rank.stream));
      RONDO_CUDA_THROW(cudaEventRecord(rank.read, rank.stream));
    }
  }
  int wrong = 0;
  for (const Rank& rank : ranks) rank.stream.synchronize();
  for (const Rank& rank : ranks) {
    const std::vector<float> received = rank.received.download();
    for (int step = 0; step < kSteps; ++step)
      if (received[static_cast<size_t>(step)] != value_of(1 - rank.device, step)) ++wrong;
  }
  return wrong;
}

// The number of seeds below 32 under which a wrong value is received.
int wrong_seeds(Waits waits) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 32; ++seed) wrong += wrong_values(waits, seed) > 0;
  return wrong;
}

TEST(EarlyPeerRead, WithoutWaitsShowsUnderMostSeeds) {
  const int wrong = wrong_seeds(Waits::none);
  show("without waits: wrong values under ", wrong, " of 32 seeds");
  EXPECT_GT(wrong, 16);
}

TEST(EarlyPeerRead, WithoutTheWaitForTheReaderShowsUnderSomeSeeds) {
  const int wrong = wrong_seeds(Waits::for_writer);
  show("without the wait for the reader: wrong values under ", wrong, " of 32 seeds");
  EXPECT_GT(wrong, 0);
}

TEST(EarlyPeerRead, NoSeedBreaksTheReadWithBothWaits) { EXPECT_EQ(wrong_seeds(Waits::for_writer_reader), 0); }

}  // namespace
}  // namespace rondo::test
