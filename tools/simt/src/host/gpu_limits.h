// The limits of blocks and multiprocessors that the executor applies.
#pragma once

#include <simt/gpus.h>

namespace simt {

// The GPU that SIMT_GPU or set_gpu() selects for a device, or the executor's own limits: a GPU without name,
// title and multiprocessors.
const GpuProperties& limits(int device);

}  // namespace simt
