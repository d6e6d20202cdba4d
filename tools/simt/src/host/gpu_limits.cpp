#include "gpu_limits.h"

#include <simt/settings.h>

namespace simt {

const GpuProperties& limits() {
  // The shared memory of an h100: tiles of vector registers, which a GPU does not have, need more than the
  // smallest GPUs have. One multiprocessor per worker thread.
  static const GpuProperties executor = [] {
    GpuProperties own = *gpu_named("h100");
    own.name = own.title = own.part = "";
    own.multiprocessors = 0;
    return own;
  }();
  const GpuProperties* gpu = gpu_named(settings().gpu);
  return gpu ? *gpu : executor;
}

}  // namespace simt
