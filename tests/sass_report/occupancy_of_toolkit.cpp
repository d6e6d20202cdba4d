// Reads cases from standard input, one per line: "major minor registers shared threads" and the device's
// limits. Prints the resident blocks that the toolkit's cuda_occupancy.h computes for each.
#include <cuda_occupancy.h>

#include <iostream>

int main() {
  int major, minor, registers, shared, threads, warps, of_multiprocessor, of_block, reserved;
  while (std::cin >> major >> minor >> registers >> shared >> threads >> warps >> of_multiprocessor >>
         of_block >> reserved) {
    cudaOccDeviceProp device;
    device.computeMajor = major;
    device.computeMinor = minor;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsPerMultiprocessor = 32 * warps;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 << 10;
    device.sharedMemPerMultiprocessor = of_multiprocessor;
    device.sharedMemPerBlockOptin = of_block;
    device.reservedSharedMemPerBlock = reserved;
    device.numSms = 1;
    cudaOccFuncAttributes kernel;
    kernel.maxThreadsPerBlock = threads;
    kernel.numRegs = registers;
    kernel.sharedSizeBytes = 0;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = shared;
    kernel.numBlockBarriers = 1;
    const cudaOccDeviceState state;
    cudaOccResult result;
    const cudaOccError error =
        cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, shared);
    std::cout << (error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1) << '\n';
  }
}
