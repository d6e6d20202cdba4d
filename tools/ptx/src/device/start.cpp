#include "start.h"

#include <algorithm>

#include "special_registers.h"

namespace ptx {
namespace {

constexpr uint32_t kNan = 0x7FF7FFF7;  // of unwritten registers: as halves, floats and doubles
constexpr char kUnwritten = static_cast<char>(0xFF);

// Registers of warps that have exited, with the constants of the kernel in their places.
struct RegisterPool {
  uint64_t serial = 0;
  std::vector<AlignedBytes> free;
};
thread_local RegisterPool pool;

AlignedBytes fresh_registers(const Code& code) {
  AlignedBytes registers(static_cast<size_t>(code.register_bytes));
  uint32_t* const words = reinterpret_cast<uint32_t*>(registers.data());
  std::fill_n(words, registers.size() / sizeof(uint32_t), kNan);
  for (const Constant& constant : code.constants) {
    char* const to = registers.data() + constant.at;
    if (constant.bytes == 0) {
      const uint32_t lanes = constant.value != 0 ? kAllLanes : 0;
      std::memcpy(to, &lanes, sizeof lanes);
      continue;
    }
    for (int lane = 0; lane < kWarpSize; ++lane)
      std::memcpy(to + lane * constant.bytes, &constant.value, std::min<size_t>(constant.bytes, 8));
  }
  return registers;
}

AlignedBytes take_registers(const Code& code) {
  if (pool.serial != code.serial) {
    pool.free.clear();
    pool.serial = code.serial;
  }
  if (pool.free.empty()) return fresh_registers(code);
  AlignedBytes registers = std::move(pool.free.back());
  pool.free.pop_back();
  return registers;
}

void start_warp(Warp& warp, Block& block, int index, uint32_t threads) {
  const Code& code = *block.launch->code;
  warp.block = &block;
  warp.index = index;
  warp.register_memory = take_registers(code);
  warp.registers = warp.register_memory.data();
  const int local = block.launch->kernel->local_bytes;
  if (local != 0) warp.local.assign(static_cast<size_t>(local) * kWarpSize, kUnwritten);
  const uint32_t lanes = std::min<uint32_t>(kWarpSize, threads - static_cast<uint32_t>(index) * kWarpSize);
  warp.started = warp.live = lanes == kWarpSize ? kAllLanes : (1u << lanes) - 1;
  if (block.launch->races) start_clock(warp);
  std::fill_n(warp.cluster_phase, kWarpSize, kNotArrived);
  for (const SpecialRegister& special : code.specials) {
    uint32_t* const to = warp.values<uint32_t>({special.at, 4});
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) to[lane] = special_value(special, warp, lane);
  }
}

}  // namespace

std::unique_ptr<Cluster> start_cluster(const LaunchState& launch, uint64_t number) {
  const Shape& shape = launch.shape;
  auto cluster = std::make_unique<Cluster>();
  cluster->launch = &launch;
  cluster->number = number;
  const uint64_t wide = shape.grid[0] / shape.cluster[0], high = shape.grid[1] / shape.cluster[1];
  const uint32_t at[3] = {static_cast<uint32_t>(number % wide), static_cast<uint32_t>(number / wide % high),
                          static_cast<uint32_t>(number / wide / high)};
  const uint32_t blocks = shape.cluster[0] * shape.cluster[1] * shape.cluster[2];
  const uint32_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  for (uint32_t rank = 0; rank < blocks; ++rank) {
    cluster->blocks.push_back(std::make_unique<Block>());
    Block& block = *cluster->blocks.back();
    block.cluster = cluster.get();
    block.launch = &launch;
    block.rank = rank;
    block.id[0] = at[0] * shape.cluster[0] + rank % shape.cluster[0];
    block.id[1] = at[1] * shape.cluster[1] + rank / shape.cluster[0] % shape.cluster[1];
    block.id[2] = at[2] * shape.cluster[2] + rank / shape.cluster[0] / shape.cluster[1];
    const size_t bytes = size_t{kSharedBase} + launch.dynamic_shared_at + shape.dynamic_shared;
    block.shared.assign(bytes, kUnwritten);
    std::fill_n(block.shared.begin(), kSharedBase, 0);
    const Checks& checks = launch.launch.checks;
    const bool by_thread = checks.proxies && launch.code->async_reads;
    if (checks.unwritten || by_thread) {
      const uint32_t written = checks.unwritten ? kSharedBase : static_cast<uint32_t>(bytes);
      block.shadow.start(static_cast<uint32_t>(bytes), written, by_thread, threads);
    }
    block.live_threads = static_cast<int>(threads);
    block.warps.resize((threads + kWarpSize - 1) / kWarpSize);
  }
  for (const auto& block : cluster->blocks)
    for (size_t n = 0; n < block->warps.size(); ++n)
      start_warp(block->warps[n], *block, static_cast<int>(n), threads);
  return cluster;
}

void give_back_registers(Warp& warp, const Code& code) {
  if (pool.serial == code.serial) pool.free.push_back(std::move(warp.register_memory));
}

}  // namespace ptx
