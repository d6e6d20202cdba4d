#include <rondo/bench/timing/last_level_cache.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>

#include <cuda_runtime_api.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace rondo::bench {
namespace {

constexpr int64_t kAssumedBytes = int64_t{64} << 20;

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "32768K" in bytes; nothing for another text.
std::optional<int64_t> cache_bytes(const std::string& text) {
  int64_t value = 0;
  const auto [unit, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) return std::nullopt;
  const std::string rest(unit, text.data() + text.size());
  return rest == "K"    ? value << 10
         : rest == "M"  ? value << 20
         : rest.empty() ? std::optional(value)
                        : std::nullopt;
}

}  // namespace

LastLevelCache cpu_last_level_cache(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  int highest = 0;
  std::map<std::string, int64_t> instances;  // of that level: the processors that share one, and its bytes
  for (const auto& cpu : fs::directory_iterator(folder, unreadable)) {
    if (!cpu.path().filename().string().starts_with("cpu")) continue;
    for (const auto& cache : fs::directory_iterator(cpu.path() / "cache", unreadable)) {
      const std::string level_text = first_line(cache.path() / "level");
      const std::optional<int64_t> level = cache_bytes(level_text),
                                   bytes = cache_bytes(first_line(cache.path() / "size"));
      if (!level || !bytes || *level < highest) continue;
      if (*level > highest) instances.clear();
      highest = static_cast<int>(*level);
      instances[first_line(cache.path() / "shared_cpu_list")] = *bytes;
    }
  }
  LastLevelCache found;
  for (const auto& [processors, bytes] : instances) found.bytes += bytes;
  found.source = concat("L", highest, " of the processors, from ", folder);
  return found;
}

LastLevelCache last_level_cache() {
  if (std::string(platform()) == "cpu") {
    LastLevelCache found = cpu_last_level_cache("/sys/devices/system/cpu");
    if (found.bytes > 0) return found;
    return {kAssumedBytes, "assumed: the system does not report its caches"};
  }
  int device = 0, bytes = 0;
  RONDO_CUDA_THROW(cudaGetDevice(&device));
  RONDO_CUDA_THROW(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
  return {bytes, "L2 of the GPU, from CUDA"};
}

}  // namespace rondo::bench
