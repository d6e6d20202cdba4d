#include <rondo/tools/rondo/profile/forecast.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

// The bytes of global memory that a launch touches. Exact if all blocks were observed. Otherwise the observed
// blocks overlap in a part of what they touch, and the estimate assumes that all blocks overlap alike: blocks
// that draw a fraction f of T bytes at random touch T (1 - (1 - f)^n) bytes together. It is at most the size
// of the allocations.
double distinct_bytes(const simt::KernelProfile& profile) {
  const double seen = static_cast<double>(profile.launch_bytes_read + profile.launch_bytes_written);
  if (profile.observed_blocks == 0 || profile.observed_blocks == profile.blocks) return seen;
  const auto launches = static_cast<double>(profile.observed_launches);
  const double observed = static_cast<double>(profile.observed_blocks) / launches;
  const double all = static_cast<double>(profile.blocks) / launches;
  const double together = seen / launches;
  const double one = static_cast<double>(profile.block_bytes) / static_cast<double>(profile.observed_blocks);
  const double most = static_cast<double>(profile.allocated_bytes) / launches;
  double estimate = together / observed * all;  // without overlap
  // What is both read and written counts twice in `together` and once in `one`.
  if (together < one * observed) {
    double low = together, high = 1e18;  // of T
    for (int i = 0; i < 200; ++i) {
      const double total = std::sqrt(low * high);
      const double expected = -total * std::expm1(observed * std::log1p(-std::min(one / total, 1.0)));
      (expected < together ? low : high) = total;
    }
    estimate = -low * std::expm1(all * std::log1p(-std::min(one / low, 1.0)));
  }
  return std::max(together, most > 0 ? std::min(estimate, most) : estimate) * launches;
}

}  // namespace

const char* name_of(Resource resource) {
  constexpr const char* kNames[] = {"memory", "L2", "L1/shared", "FMA", "tensor", "issue", "launch"};
  return kNames[static_cast<size_t>(resource)];
}

KernelTotals totals_of(const simt::KernelProfile& profile) {
  KernelTotals totals;
  totals.launches = static_cast<double>(profile.launches);
  if (profile.observed_blocks == 0) return totals;
  // From the observed blocks of the observed launches to all blocks of all launches.
  const double repeated = totals.launches / static_cast<double>(profile.observed_launches);
  const double scale = profile.scale() * repeated;
  const auto scaled = [&](uint64_t count) { return static_cast<double>(count) * scale; };
  totals.blocks = static_cast<double>(profile.blocks) / static_cast<double>(profile.observed_launches);
  for (const simt::AccessCounts& access : profile.accesses) {
    totals.requests += scaled(access.requests);
    totals.lanes += scaled(access.lanes);
    if (access.space == simt::AccessSpace::global) {
      totals.global_requests += scaled(access.requests);
      totals.global_sectors += scaled(access.sectors);
      totals.least_global_sectors += scaled(access.least_sectors);
    } else {
      totals.shared_requests += scaled(access.requests);
      totals.shared_wavefronts += scaled(access.wavefronts);
      totals.least_shared_wavefronts += scaled(access.least_wavefronts);
    }
  }
  totals.multiply_adds = scaled(profile.multiply_adds);
  totals.warp_multiply_adds = scaled(profile.warp_multiply_adds);
  totals.tf32_multiply_adds = scaled(profile.tf32_multiply_adds);
  totals.narrow_multiply_adds = scaled(profile.narrow_multiply_adds);
  totals.instructions = scaled(profile.instructions);
  totals.waited = scaled(profile.waited);
  totals.barriers = scaled(profile.barriers);
  totals.block_bytes = scaled(profile.block_bytes);
  totals.launch_bytes = distinct_bytes(profile) * repeated;
  return totals;
}

KernelForecast forecast(const simt::KernelProfile& profile, const simt::GpuProperties& gpu,
                        std::optional<int> registers, const ForecastOptions& options) {
  KernelForecast result;
  const KernelTotals& totals = result.totals = totals_of(profile);
  const int threads = static_cast<int>(profile.block.x * profile.block.y * profile.block.z);
  result.occupancy = simt::occupancy_of(gpu, threads, static_cast<int64_t>(profile.shared_bytes), registers);
  if (totals.blocks == 0) return result;

  const double sms = gpu.multiprocessors;
  const double concurrent_blocks = sms * std::max(result.occupancy.blocks, 1);
  result.waves = totals.blocks / concurrent_blocks;
  const double rounds = std::ceil(totals.blocks / sms);  // blocks of the busiest multiprocessor
  result.tail_idle_fraction = 1 - totals.blocks / (rounds * sms);

  const double hertz = gpu.boost_ghz * 1e9;
  // Cycles of all blocks to seconds of the busiest multiprocessor.
  const auto on_busiest_sm = [&](double cycles) { return cycles / totals.blocks * rounds / hertz; };
  const auto set = [&](Resource resource, double seconds) {
    result.seconds[static_cast<size_t>(resource)] = seconds;
  };
  const bool in_cache = options.warm && totals.launch_bytes / totals.launches <= gpu.l2_mb * 1048576.0;
  set(Resource::memory, in_cache ? 0 : totals.launch_bytes / (gpu.dram_gb_s * 1e9));
  set(Resource::l2, totals.block_bytes / (gpu.l2_gb_s * 1e9));
  // One pipe moves up to 128 bytes a cycle: a wavefront of shared memory, or 4 sectors of a request.
  set(Resource::shared,
      on_busiest_sm(totals.shared_wavefronts + std::max(totals.global_requests, totals.global_sectors / 4)) /
          gpu.shared_wavefronts);
  set(Resource::fma, on_busiest_sm(totals.warp_multiply_adds * 32 / gpu.fp32_lanes));
  // Cycles of a multiprocessor at the peak of the tensor cores; infinite on a GPU that has no tf32.
  const auto tensor_cycles = [&](double multiply_adds, double tflops) {
    return multiply_adds == 0 ? 0 : 2 * multiply_adds * sms * hertz / (tflops * 1e12);
  };
  set(Resource::tensor, on_busiest_sm(tensor_cycles(totals.tf32_multiply_adds, gpu.tf32_tflops) +
                                      tensor_cycles(totals.narrow_multiply_adds, gpu.fp16_tflops)));
  set(Resource::issue, on_busiest_sm(totals.instructions / gpu.schedulers));
  set(Resource::launch, totals.launches * gpu.graph_node_us * 1e-6);
  for (const Resource resource : kResources)
    if (result.seconds[static_cast<size_t>(resource)] > result.min_seconds()) result.bound = resource;
  return result;
}

}  // namespace rondo::program
