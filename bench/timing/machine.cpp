#include <rondo/bench/timing/machine.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>

#include <cuda_runtime_api.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

namespace rondo::bench {
namespace {

constexpr int64_t kAssumedBytes = int64_t{64} << 20;

// The beginning of a file of the system, whose size is not known before; empty if it cannot be read.
std::string text_of(const std::filesystem::path& path) {
  std::string text(4096, '\0');
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (!file) return "";
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

// What follows `key` in its line, or the first line for an empty key.
std::string line_of(const std::string& text, const std::string& key = "") {
  const size_t found = key.empty() ? 0 : text.find(key);
  if (found == std::string::npos) return "";
  const size_t begin = found + key.size();
  return text.substr(begin, text.find('\n', begin) - begin);
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

std::string machine_name() {
  if (std::string(platform()) == "cpu") {
    const std::string model = line_of(text_of("/proc/cpuinfo"), "model name\t: ");
    return model.empty() ? "unknown processor" : model;
  }
  int device = 0;
  cudaDeviceProp properties;
  RONDO_CUDA_THROW(cudaGetDevice(&device));
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

LastLevelCache cpu_last_level_cache(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code unreadable;
  int highest = 0;
  std::map<std::string, int64_t> instances;  // of that level: the processors that share one, and its bytes
  for (const auto& cpu : fs::directory_iterator(folder, unreadable)) {
    if (!cpu.path().filename().string().starts_with("cpu")) continue;
    for (const auto& cache : fs::directory_iterator(cpu.path() / "cache", unreadable)) {
      const std::string level_text = line_of(text_of(cache.path() / "level"));
      const std::optional<int64_t> level = cache_bytes(level_text),
                                   bytes = cache_bytes(line_of(text_of(cache.path() / "size")));
      if (!level || !bytes || *level < highest) continue;
      if (*level > highest) instances.clear();
      highest = static_cast<int>(*level);
      instances[line_of(text_of(cache.path() / "shared_cpu_list"))] = *bytes;
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
