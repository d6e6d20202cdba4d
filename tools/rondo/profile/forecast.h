// A lower bound of the time of a kernel on a GPU, from its counts.
//
// Each resource of the GPU needs some time at least for what was counted. The largest of these times is the
// lower bound; its resource is the kernel's bound. This is arithmetic on counts and published peaks, not a
// simulation and not a measurement: latency, and whatever the counts do not contain (address arithmetic,
// cache misses), come on top.
#pragma once

#include <simt/gpus.h>
#include <simt/observe.h>

#include <array>
#include <optional>
#include <vector>

namespace rondo::program {

enum class Resource { memory, l2, shared, fma, tensor, issue, launch };
inline constexpr std::array kResources = {Resource::memory, Resource::l2,    Resource::shared, Resource::fma,
                                          Resource::tensor, Resource::issue, Resource::launch};
const char* name_of(Resource resource);

// Sums over all launches of a kernel. With a limit on the observed blocks, they are scaled to all blocks.
struct KernelTotals {
  double launches = 0;
  double blocks = 0;  // per launch
  double global_requests = 0, global_sectors = 0, least_global_sectors = 0;
  double shared_requests = 0, shared_wavefronts = 0, least_shared_wavefronts = 0;
  double lanes = 0, requests = 0;  // of all accesses
  double multiply_adds = 0, warp_multiply_adds = 0;
  double tf32_multiply_adds = 0, narrow_multiply_adds = 0;  // by tensor cores
  double instructions = 0, waited = 0, barriers = 0;
  double block_bytes = 0;   // the sum of each block's distinct bytes
  double launch_bytes = 0;  // the sum of each launch's distinct bytes, read and written
};
KernelTotals totals_of(const simt::KernelProfile& profile);

struct KernelForecast {
  KernelTotals totals;
  simt::Occupancy occupancy;
  double waves = 0;               // of blocks
  double tail_idle_fraction = 0;  // part of the multiprocessors' time without a block, in the last wave
  std::array<double, kResources.size()> seconds = {};  // by resource, of all launches
  Resource bound = Resource::memory;
  double min_seconds() const { return seconds[static_cast<size_t>(bound)]; }
};

struct ForecastOptions {
  // Assume that the data of a launch are in L2 beforehand, if they fit.
  bool warm = false;
};

// `registers`: per thread; nothing if they are not known.
KernelForecast forecast(const simt::KernelProfile& profile, const simt::GpuProperties& gpu,
                        std::optional<int> registers, const ForecastOptions& options = {});

}  // namespace rondo::program
