#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/bench/library_peer.h>

#include <dlfcn.h>

#include <utility>

namespace rondo::program {

void LibraryPeer::time(const std::string& library, bench::OperatorCall call,
                       const bench::OperandSets& operands) {
  stop();
  if (!bench::runs_right(call, operands))
    throw Error(Status(StatusCode::device_failed, concat(library, ", ", call.name, ": the result is wrong")));
  call_ = std::move(call);
  hot_.emplace(
      stream_, [&](int64_t, cudaStream_t s) { return call_.enqueue(operands.set(0), s); }, 1);
  if (operands.count() > 1)
    cold_.emplace(
        stream_, [&](int64_t index, cudaStream_t s) { return call_.enqueue(operands.set(index), s); },
        operands.count());
}

void LibraryPeer::stop() {
  cold_.reset();
  hot_.reset();
}

void LibraryPeer::sample(bool cold, int64_t count, std::vector<double>& seconds) {
  (cold ? *cold_ : *hot_).sample(count, seconds);
}

std::function<void*(const std::string& name)> load_library(const char* peer,
                                                           const std::vector<const char*>& files) {
  if (std::string(platform()) == "cpu")
    throw Error(
        bad_argument("--peer is '", peer, "', which needs a GPU: this rondo runs on the CPU executor"));
  std::string reasons;
  for (const char* const file : files) {
    if (void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL))
      return [library](const std::string& name) { return dlsym(library, name.c_str()); };
    reasons += concat(reasons.empty() ? "" : "; ", dlerror());
  }
  throw Error(bad_argument("--peer is '", peer, "', which is not installed: ", reasons));
}

}  // namespace rondo::program
