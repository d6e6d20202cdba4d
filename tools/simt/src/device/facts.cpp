// What the host half asks about kernels that are C++: nothing is known of their code, and of their parameters
// what calls that named them by their type have told.
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "../base/device_half.h"

namespace simt {
namespace {

struct Signatures {
  std::shared_mutex mutex;
  std::unordered_map<const void*, const Signature*> by_kernel;
};
Signatures& signatures() {
  static Signatures* const all = new Signatures;  // kernels may be launched while the process ends
  return *all;
}

const Signature* signature(const void* kernel) {
  const std::shared_lock lock(signatures().mutex);
  const auto found = signatures().by_kernel.find(kernel);
  return found == signatures().by_kernel.end() ? nullptr : found->second;
}

}  // namespace

void remember(const void* kernel, const Signature& signature) {
  const std::unique_lock lock(signatures().mutex);
  signatures().by_kernel[kernel] = &signature;
}

std::optional<std::vector<ArgumentPlace>> argument_places(const void* kernel) {
  const Signature* const known = signature(kernel);
  if (!known) return {};
  std::vector<ArgumentPlace> places;
  size_t end = 0;
  for (size_t i = 0; i < known->count; ++i) {
    const auto [bytes, alignment] = known->parameters[i];
    places.push_back({(end + alignment - 1) / alignment * alignment, bytes});
    end = places.back().offset + bytes;
  }
  return places;
}

Launch prepare(const void* kernel, void* const* arguments) {
  return signature(kernel)->launch(kernel, arguments);
}

const char* const kDeviceName = "CPU executor";

KernelFacts facts_of(const void*, int) { return {}; }

}  // namespace simt
