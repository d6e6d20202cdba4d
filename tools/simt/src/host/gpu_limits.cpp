#include "gpu_limits.h"

#include <simt/settings.h>

namespace simt {

const GpuProperties& limits(int device) {
  // The shared memory of an h100: tiles of vector registers, which a GPU does not have, need more than the
  // smallest GPUs have. One multiprocessor per worker thread.
  static const GpuProperties executor = [] {
    GpuProperties own = *gpu_named("h100");
    own.name = own.title = own.part = "";
    own.multiprocessors = 0;
    return own;
  }();
  if (settings().gpu.empty()) return executor;
  const std::vector<const GpuProperties*> gpus = *gpus_named(settings().gpu);
  return *gpus[static_cast<size_t>(device) % gpus.size()];
}

}  // namespace simt
