#include "cluster.h"

#include <simt/cluster.h>
#include <simt/grid.h>
#include <simt/kernel.h>
#include <simt/settings.h>
#include <simt/shared.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "../base/device_half.h"
#include "../base/observer.h"
#include "block.h"

namespace simt {

void Cluster::start(std::vector<Block*> blocks) {
  blocks_ = std::move(blocks);
  restart();
}

Block& Cluster::reached(unsigned rank, const char* instruction, const Place& place) const {
  const auto fail = [&](const char* what) {
    running_block(instruction).fail(cudaErrorLaunchFailure, [&] {
      return std::string(instruction) + " at " + text(place) + " names block " + std::to_string(rank) +
             " of a cluster of " + std::to_string(size()) + what;
    });
  };
  if (rank >= size()) fail(size() == 1 ? "; the launch declares no larger one" : "");
  if (blocks_[rank]->ended()) fail(", which has ended: its shared memory is gone");
  return *blocks_[rank];
}

void Cluster::arrive(Block& self, const Place& place) {
  Fiber& fiber = self.current();
  if (fiber.cluster_arrived)
    self.fail(cudaErrorLaunchFailure, [&] {
      return "barrier.cluster.arrive at " + text(place) +
             ": the thread has arrived, and has not waited since";
    });
  tsan_release(this);
  fiber.cluster_arrived = true;
  fiber.cluster_phase = phase_;
  ++arrived_;
  detail::tell_observer([&](Observer& observer) { observer.cluster_arrives(fiber.rank); });
  complete_if_all_arrived();
}

void Cluster::wait(Block& self, const Place& place) {
  Fiber& fiber = self.current();
  if (!fiber.cluster_arrived)
    self.fail(cudaErrorLaunchFailure,
              [&] { return "barrier.cluster.wait at " + text(place) + ": the thread has not arrived"; });
  fiber.cluster_arrived = false;
  if (fiber.cluster_phase == phase_) self.wait_for_cluster(place);
  tsan_acquire(this);
  detail::tell_observer([&](Observer& observer) { observer.cluster_waited(fiber.rank); });
}

void Cluster::complete_if_all_arrived() {
  const auto add = [](unsigned sum, const Block* block) { return sum + block->alive(); };
  if (arrived_ != std::accumulate(blocks_.begin(), blocks_.end(), 0u, add)) return;
  detail::tell_observer([](Observer& observer) { observer.cluster_completes(); });
  arrived_ = 0;
  ++phase_;
  for (Block* block : blocks_) block->end_cluster_barrier();
}

namespace {

unsigned blocks_of(const dim3& size) { return size.x * size.y * size.z; }

uint3 position(uint64_t number, const dim3& size) {
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
}

// The number in the grid of block `rank` of cluster `number`.
uint64_t block_number(const Kernel& kernel, uint64_t number, unsigned rank) {
  const dim3 &grid = kernel.grid, size = kernel.together();
  const uint3 cluster = position(number, {grid.x / size.x, grid.y / size.y, grid.z / size.z});
  const uint3 block = position(rank, size);
  const uint64_t x = uint64_t{cluster.x} * size.x + block.x, y = uint64_t{cluster.y} * size.y + block.y,
                 z = uint64_t{cluster.z} * size.z + block.z;
  return x + grid.x * (y + grid.y * z);
}

// Runs the blocks in turns, each until none of its threads can go on. With a seed the order of each round is
// drawn. Returns the fault of one of them.
Fault run_in_turns(const Kernel& kernel, uint64_t number, std::vector<Block*> blocks) {
  const auto seed = settings().seed;
  Random random(seed ? *seed ^ Random(kernel.sequence ^ number << 32).next() : 0);
  for (bool progress = true; progress;) {
    progress = false;
    bool all_ended = true;
    if (seed) random.shuffle(blocks);
    for (Block* block : blocks) {
      if (block->resume()) progress = true;
      if (Fault fault = block->fault(); fault.error != cudaSuccess) return fault;
      all_ended = all_ended && block->ended();
    }
    if (all_ended) return {};
  }
  std::string what = "kernel " + kernel.name + ": deadlock: no thread of the " +
                     (kernel.cooperative ? "grid" : "cluster") + " can go on.";
  for (Block* block : blocks)
    if (!block->ended()) what += " " + block->waiting_of_cluster();
  return {cudaErrorLaunchFailure, what};
}

}  // namespace

Fault run_cluster(const Kernel& kernel, uint64_t number) {
  const unsigned count = blocks_of(kernel.together());
  if (count == 1) return run_block(kernel, number);
  // A worker reuses them, as it does the block of run_block().
  static thread_local std::vector<std::unique_ptr<Block>> kept;
  static thread_local Cluster cluster;
  while (kept.size() < count) kept.push_back(std::make_unique<Block>());
  std::vector<Block*> blocks;
  for (unsigned rank = 0; rank < count; ++rank) blocks.push_back(kept[rank].get());
  cluster.start(blocks);
  const auto end_all = [&] {
    for (Block* block : blocks) block->end();
  };
  Fault fault;
  try {
    bool runs = false;
    for (unsigned rank = 0; rank < blocks.size(); ++rank)
      if (blocks[rank]->begin(kernel, block_number(kernel, number, rank), {&cluster, rank})) runs = true;
    if (runs) fault = run_in_turns(kernel, number, blocks);
  } catch (...) {  // no memory for a stack
    end_all();
    throw;
  }
  end_all();
  return fault;
}

const bool kCooperativeLaunches = true;

Fault run_together(const Kernel& kernel) {
  if (blocks_of(kernel.cluster) > 1)
    return {cudaErrorNotSupported, "the executor has no cooperative launches of clusters"};
  constexpr unsigned kMostChecked = 64;
  Observer* const observer = active_observer;
  if (kObserve && observer && observer->checks_order() && blocks_of(kernel.grid) > kMostChecked)
    return {cudaErrorNotSupported, "the race detector checks cooperative launches of up to 64 blocks"};
  return run_cluster(kernel, 0);
}

bool grid_is_cooperative() { return running_block("grid_group::is_valid").kernel().cooperative; }

void grid_sync(Place place) {
  Block& block = running_block("grid_group::sync");
  if (!block.kernel().cooperative)
    block.fail(cudaErrorLaunchFailure, [&] {
      return "grid_group::sync() at " + text(place) +
             ": the kernel was not launched by "
             "cudaLaunchCooperativeKernel()";
    });
  block.place_in_cluster().cluster->arrive(block, place);
  block.place_in_cluster().cluster->wait(block, place);
}

unsigned cluster_rank() {
  const Block& block = running_block("%cluster_ctarank");
  return block.kernel().cooperative ? 0 : block.place_in_cluster().rank;
}
unsigned cluster_size() {
  const Block& block = running_block("%cluster_nctarank");
  return block.kernel().cooperative ? 1 : block.place_in_cluster().cluster->size();
}

void cluster_arrive(Place place) {
  Block& block = running_block("barrier.cluster.arrive");
  block.place_in_cluster().cluster->arrive(block, place);
}

void cluster_wait(Place place) {
  Block& block = running_block("barrier.cluster.wait");
  block.place_in_cluster().cluster->wait(block, place);
}

void* cluster_map(const void* shared, unsigned rank, Place place) {
  constexpr const char* kName = "mapa";
  Block& self = running_block(kName);
  check_shared(kName, shared, 0, 1, place);
  Block& other = self.place_in_cluster().cluster->reached(rank, kName, place);
  return other.shared_memory() + shared_offset(shared);
}

}  // namespace simt
