#include <simt/gpus.h>
#include <simt/settings.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include "../base/device_half.h"
#include "../base/observer.h"
#include "runtime.h"

namespace simt {
namespace {

#ifdef __SANITIZE_THREAD__
// The thread sanitizer supports 8128 threads, and each worker has up to 1024 fibers of a block.
constexpr int kMostWorkersByDefault = 4;
#else
constexpr int kMostWorkersByDefault = kMostWorkers;
#endif

constexpr uint64_t kMostGraphNodeBytes = uint64_t{1} << 32;  // times the operations of a graph is below 2^64
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// `text` with control characters escaped, because a terminal would interpret them.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    char code[8];
    std::snprintf(code, sizeof(code), "\\x%02x", static_cast<unsigned char>(c));
    shown += c >= ' ' && c <= '~' ? std::string(1, c) : code;
  }
  return shown;
}

// An invalid setting must not be ignored, because the run would not be the requested one. The process ends
// without its exit handlers: a handler with a CUDA call would need the settings, which do not exist yet.
[[noreturn]] void refuse(const char* name, std::string_view text, const std::string& problem) {
  std::fprintf(stderr, "simt: %s=%s is %s\n", name, printable(text).c_str(), problem.c_str());
  std::fflush(nullptr);
  std::_Exit(2);
}

std::optional<uint64_t> from_environment(const char* name, uint64_t least, uint64_t most) {
  const char* text = std::getenv(name);
  if (!text || !*text) return {};
  uint64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, problem] = std::from_chars(text, end, value);
  if (problem != std::errc{} || stop != end || value < least || value > most)
    refuse(name, text, "not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

// CUDA's own variable with CUDA's values.
bool lazy_loading_of_environment() {
  const char* name = "CUDA_MODULE_LOADING";
  const char* text = std::getenv(name);
  const std::string_view value = text ? text : "";
  if (!value.empty() && value != "LAZY" && value != "DEFAULT" && value != "EAGER")
    refuse(name, text, "not LAZY, DEFAULT or EAGER");
  return value != "EAGER";
}

// A flag of a build that observes kernels.
bool observer_from_environment(const char* name) {
  const bool wanted = from_environment(name, 0, 1).value_or(0) != 0;
  if (wanted && !kObserve)
    refuse(name, "1", "only possible in a build with RONDO_OBSERVE=ON (cmake --preset observe)");
  return wanted;
}

std::string count_file_from_environment(bool check) {
  const char* file = std::getenv("SIMT_COUNT");
  if (!file || !*file) return {};
  if (!kObserve)
    refuse("SIMT_COUNT", file, "only possible in a build with RONDO_OBSERVE=ON (cmake --preset observe)");
  if (check) refuse("SIMT_COUNT", file, "not possible together with SIMT_CHECK=1");
  return file;
}

std::string gpu_from_environment() {
  const char* name = std::getenv("SIMT_GPU");
  if (!name || !*name) return {};
  if (!gpus_named(name)) refuse("SIMT_GPU", name, "no GPU whose limits are known; there are " + gpu_names());
  return name;
}

Settings read_environment() {
  Settings settings;
  settings.workers =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostWorkersByDefault);
  if (const auto value = from_environment("SIMT_DEVICES", 1, kMostDevices))
    settings.devices = static_cast<int>(*value);
  if (const auto value = from_environment("SIMT_WORKERS", 1, kMostWorkers))
    settings.workers = static_cast<int>(*value);
  if (const auto value = from_environment("SIMT_MEMORY", 1, kNoLimit)) settings.memory_bytes = *value;
  if (const auto value = from_environment("SIMT_LATE_COPIES", 0, 1)) settings.late_copies = *value != 0;
  settings.gpu = gpu_from_environment();
  settings.seed = from_environment("SIMT_SEED", 0, kNoLimit);
  if (const auto value = from_environment("SIMT_QUEUE_LENGTH", 1, kLongestQueue))
    settings.queue_length = static_cast<int>(*value);
  if (const auto value = from_environment("CUDA_DEVICE_MAX_CONNECTIONS", 1, kMostConnections))
    settings.connections = static_cast<int>(*value);
  if (const auto value = from_environment("SIMT_ALLOCATION_WAITS", 0, 1))
    settings.allocation_waits = *value != 0;
  if (const auto value = from_environment("SIMT_FREE_WAITS", 0, 1)) settings.free_waits = *value != 0;
  if (const auto value = from_environment("SIMT_GRAPH_NODE_BYTES", 0, kMostGraphNodeBytes))
    settings.graph_node_bytes = *value;
  if (const auto value = from_environment("SIMT_ZEROED_MEMORY", 0, 1)) settings.zeroed_memory = *value != 0;
  settings.check = observer_from_environment("SIMT_CHECK");
  settings.bounds = observer_from_environment("SIMT_BOUNDS");
  settings.lockstep = observer_from_environment("SIMT_LOCKSTEP");
  settings.count_file = count_file_from_environment(settings.check);
  if (const auto value = from_environment("SIMT_REPORT_CONTEXTS", 0, 1))
    settings.report_contexts = *value != 0;
  settings.lazy_loading = lazy_loading_of_environment();
  if (const auto value = from_environment("SIMT_CAPTURE_LOADS", 0, 1)) settings.capture_loads = *value != 0;
  return settings;
}

Settings& mutable_settings() {
  static Settings store = read_environment();
  return store;
}

cudaError_t set_count(int Settings::*field, int value, int most) {
  if (value < 1 || value > most) return cudaErrorInvalidValue;
  if (Runtime::started()) return cudaErrorSetOnActiveProcess;
  mutable_settings().*field = value;
  return cudaSuccess;
}

// The runtime reads the settings while it holds its mutex.
template <class T>
void change(T Settings::*field, T value) {
  std::unique_lock<std::mutex> lock;
  if (Runtime::started()) lock = std::unique_lock(Runtime::get().mutex);
  mutable_settings().*field = value;
}

cudaError_t change_count(int Settings::*field, int value, int most) {
  if (value < 1 || value > most) return cudaErrorInvalidValue;
  change(field, value);
  return cudaSuccess;
}

}  // namespace

const Settings& settings() { return mutable_settings(); }

cudaError_t set_device_count(int devices) { return set_count(&Settings::devices, devices, kMostDevices); }
cudaError_t set_worker_count(int workers) { return set_count(&Settings::workers, workers, kMostWorkers); }

void set_lazy_loading(bool lazy) { change(&Settings::lazy_loading, lazy); }
void set_capture_loads(bool loads) { change(&Settings::capture_loads, loads); }
void set_allocation_waits(bool waits) { change(&Settings::allocation_waits, waits); }
void set_free_waits(bool waits) { change(&Settings::free_waits, waits); }
void set_graph_memory(size_t bytes) {
  change(&Settings::graph_node_bytes, std::min<size_t>(bytes, kMostGraphNodeBytes));
}
void set_zeroed_memory(bool zeroed) { change(&Settings::zeroed_memory, zeroed); }
void set_patience(std::chrono::milliseconds patience) { change(&Settings::patience, patience); }
cudaError_t set_queue_length(int operations) {
  return change_count(&Settings::queue_length, operations, kLongestQueue);
}
cudaError_t set_connections(int queues) {
  return change_count(&Settings::connections, queues, kMostConnections);
}

cudaError_t set_gpu(std::string_view name) {
  if (!gpus_named(name)) return cudaErrorInvalidValue;
  if (Runtime::started()) return cudaErrorSetOnActiveProcess;
  mutable_settings().gpu = name;
  return cudaSuccess;
}

void set_late_copies(bool late) { mutable_settings().late_copies = late; }

cudaError_t set_memory_limit(int device, size_t bytes) {
  if (device < 0 || device >= settings().devices) return cudaErrorInvalidDevice;
  return answer([&](Runtime& runtime) {
    runtime.memory.set_limit(device, bytes);
    return cudaSuccess;
  });
}

void set_seed(std::optional<uint64_t> seed) {
  if (Runtime::started()) {
    Runtime::get().scheduler.set_seed(seed);
    Runtime::get().order.host_waited_for_all();
  }
  mutable_settings().seed = seed;
}

}  // namespace simt
