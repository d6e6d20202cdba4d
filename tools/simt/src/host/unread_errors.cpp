#include "unread_errors.h"

#include <simt/settings.h>
#include <simt/translated.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "../base/text.h"
#include "kernel_name.h"
#include "runtime.h"

namespace simt {
namespace {

// By host thread; how often each. An error is read by its thread only.
struct UnreadErrors {
  std::mutex mutex;
  std::map<std::thread::id, std::map<std::string, size_t>> by_thread;
};
UnreadErrors& unread() {
  static auto* const errors = new UnreadErrors;  // exit handlers use it
  return *errors;
}

std::string text_of_shape(dim3 shape) { return joined("(", shape.x, ", ", shape.y, ", ", shape.z, ")"); }

bool device_has_failed() {
  return !Runtime::started() ||
         Runtime::get().devices[static_cast<size_t>(host_thread().device)]->failure != cudaSuccess;
}

}  // namespace

void detail::launch_failed(const void* kernel, const cudaLaunchConfig_t& config, cudaError_t error,
                           const std::source_location& place) {
  if (!settings().check && !settings().bounds) return;
  if (device_has_failed()) return;  // the fault was reported
  const std::string launch =
      joined("kernel ", kernel_name(kernel), " with ", text_of_shape(config.gridDim), " blocks of ",
             text_of_shape(config.blockDim), " threads was not launched at ", place.file_name(), ":",
             place.line(), ": ", cudaGetErrorName(error));
  const std::lock_guard lock(unread().mutex);
  ++unread().by_thread[std::this_thread::get_id()][launch];
}

void call_failed(cudaError_t error) {
  if (!line_of_call || (!settings().check && !settings().bounds)) return;
  // Not a failure; named by launch_failed(); the fault was reported.
  if (error == cudaErrorNotReady || host_thread().launches || device_has_failed()) return;
  const std::string line = line_of_call();
  if (line.empty()) return;
  const std::string text = joined("a call at ", line, " returned ", cudaGetErrorName(error));
  static std::mutex mutex;
  static auto& printed = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (printed.insert(text).second) std::fprintf(stderr, "simt: %s\n", text.c_str());
}

void launch_errors_were_read() {
  if (!settings().check && !settings().bounds) return;
  const std::lock_guard lock(unread().mutex);
  unread().by_thread.erase(std::this_thread::get_id());
}

size_t report_unread_launch_errors() {
  const std::lock_guard lock(unread().mutex);
  size_t count = 0;
  for (const auto& [thread, errors] : unread().by_thread)
    for (const auto& [launch, times] : errors) {
      ++count;
      const std::string often = times == 1 ? "" : ", " + counted(times, "time");
      std::fprintf(stderr, "simt: %s%s\n  No cudaGetLastError() asked for this error.\n", launch.c_str(),
                   often.c_str());
    }
  return count;
}

}  // namespace simt
