// The simulated failures of simt/faults.h that calls ask for.
#pragma once

#include <driver_types.h>
#include <simt/faults.h>

namespace simt {

// Throws cudaErrorNoKernelImageForDevice after set_kernel_images(false).
void require_kernel_image();

// Throws `error` if the driver is `refused` (set_driver()).
void refuse_driver(Driver refused, cudaError_t error);

}  // namespace simt
