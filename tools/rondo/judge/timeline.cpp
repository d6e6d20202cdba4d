#include <rondo/tools/rondo/judge/timeline.h>
#include <rondo/tools/rondo/profile/forecast.h>

#include <algorithm>
#include <map>
#include <vector>

namespace rondo::program {
namespace {

// Of a copy, from its issue to its first byte; an estimate.
constexpr double kCopySeconds = 2e-6;
// Between L2 and a multiprocessor.
constexpr double kSectorsPerClock = 2;

double seconds_of(const simt::CountedOperation& operation, const std::vector<double>& launches,
                  const simt::GpuProperties& gpu) {
  const GpuLinks links = links_of(gpu);
  const auto of_link = [](const simt::LinkBytes& link, double rate) {  // its directions are independent
    return static_cast<double>(std::max(link.read, link.written)) / rate;
  };
  if (operation.kernel)
    return launches[*operation.kernel] + of_link(operation.host_link, links.host) +
           of_link(operation.peer_link, links.peer);
  const double rate = operation.is_with_host() ? links.host
                      : operation.is_copy()    ? links.peer
                                               : gpu.dram_gb_s * 1e9 / 2;  // read and written
  return kCopySeconds + static_cast<double>(operation.bytes) / rate;
}

enum class Engine { kernels, copies_to, copies_from };

}  // namespace

// By generation: PCIe 3, 4 or 5 with 16 lanes at 80 % of its rate; NVLink of the parts with SXM sockets, else
// PCIe. From the data sheets of the parts in simt/gpus.h.
GpuLinks links_of(const simt::GpuProperties& gpu) {
  if (gpu.major < 8) return {12.6e9, 12.6e9};
  const bool has_nvlink = gpu.minor == 0;
  const double pcie = gpu.major == 8 ? 25.2e9 : 50.4e9;
  if (!has_nvlink || gpu.major > 10) return {pcie, pcie};
  return {pcie, gpu.major == 8 ? 300e9 : gpu.major == 9 ? 450e9 : 900e9};
}

KernelTime counted_time(const simt::KernelProfile& kernel, const simt::GpuProperties& gpu) {
  const KernelForecast lower = forecast(kernel, gpu, std::nullopt);
  uint64_t sectors = 0, wavefronts = 0;  // with one for each lane that waits for another
  for (const simt::AccessCounts& access : kernel.accesses) {
    sectors += access.space == simt::AccessSpace::global ? access.sectors + access.same_address : 0;
    wavefronts += access.space == simt::AccessSpace::shared ? access.wavefronts + access.same_address : 0;
  }
  // The clocks in a second of the multiprocessors that a launch has blocks for.
  const double clocks =
      gpu.boost_ghz * 1e9 * std::min<double>(gpu.multiprocessors, std::max(lower.totals.blocks, 1.0));
  const double moved = kSectorsPerClock * 32 * clocks;  // bytes per second, at most
  const auto lower_of = [&](Resource resource) { return lower.seconds[static_cast<size_t>(resource)]; };
  const std::pair<const char*, double> resources[] = {
      {"memory", lower.totals.launch_bytes / std::min(gpu.dram_gb_s * 1e9, moved)},
      {"sectors", static_cast<double>(sectors) * 32 / std::min(gpu.l2_gb_s * 1e9, moved)},
      {"wavefronts", static_cast<double>(wavefronts) / gpu.shared_wavefronts / clocks},
      {"tensor cores", lower_of(Resource::tensor)},
      {"instructions", lower_of(Resource::issue)},
      {"launches", static_cast<double>(kernel.launches) * gpu.graph_node_us * 1e-6}};
  KernelTime time;
  double longest = 0;
  for (const auto& [name, seconds] : resources) {
    time.seconds += seconds;
    if (seconds <= longest) continue;
    longest = seconds;
    time.bound = name;
  }
  return time;
}

double counted_seconds(const simt::ProgramProfile& profile, const simt::GpuProperties& gpu) {
  std::vector<double> launches;
  for (const simt::KernelProfile& kernel : profile.kernels)
    launches.push_back(counted_time(kernel, gpu).seconds /
                       static_cast<double>(std::max<uint64_t>(kernel.launches, 1)));
  std::map<std::pair<int, Engine>, double> free;
  std::vector<double> ends;
  double last = 0;
  for (const simt::CountedOperation& operation : profile.operations) {
    std::vector<double*> engines;
    if (!operation.is_copy()) {
      engines = {&free[{operation.kernel ? operation.device : operation.to, Engine::kernels}]};
    } else {
      if (operation.to != simt::kHostMemory) engines.push_back(&free[{operation.to, Engine::copies_to}]);
      if (operation.from != simt::kHostMemory)
        engines.push_back(&free[{operation.from, Engine::copies_from}]);
    }
    double begin = 0;
    for (const double* const engine : engines) begin = std::max(begin, *engine);
    for (const size_t other : operation.after) begin = std::max(begin, ends[other]);
    const double end = begin + seconds_of(operation, launches, gpu);
    for (double* const engine : engines) *engine = end;
    ends.push_back(end);
    last = std::max(last, end);
  }
  return last;
}

}  // namespace rondo::program
