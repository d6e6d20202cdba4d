#pragma once

namespace simt {

// Throws cudaErrorNoKernelImageForDevice after set_kernel_images(false).
void require_kernel_image();

}  // namespace simt
