// The functions of the device half that the host half calls, besides <simt/kernel.h>. There are two device
// halves: ../device, where kernels are C++, and tools/ptx, which interprets nvcc's PTX.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <simt/kernel.h>
#include <simt/launch.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace simt {

// In cudaDeviceProp::name.
extern const char* const kDeviceName;

// Whether all blocks of a launch can run at once (cudaLaunchAttributeCooperative).
extern const bool kCooperativeLaunches;
// Runs all clusters of a cooperative launch, whose Kernel::cooperative is set.
Fault run_together(const Kernel& kernel);

// What is known of a kernel's code.
struct KernelFacts {
  int threads = 1024;       // the most of a block
  size_t shared_bytes = 0;  // declared with a size
  size_t constant_bytes = 0;
  size_t local_bytes = 0;    // of a thread
  int registers = 32;        // of a thread
  int ptx_version = 0;       // 10 * compute capability; 0: that of the device
  dim3 cluster = {0, 0, 0};  // __cluster_dims__; 0: not given
};
// Throws Failure if there is no code of the kernel for this device.
KernelFacts facts_of(const void* kernel, int device);
// Where the arguments of a kernel are in a buffer with all of them (cudaKernelNodeParams::extra), in the
// order of the parameters; nothing if the parameters are not known. Throws Failure as facts_of() does, for
// the current device.
struct ArgumentPlace {
  size_t offset, bytes;
};
std::optional<std::vector<ArgumentPlace>> argument_places(const void* kernel);
// A launch of a kernel, whose parameters are known, on the current device with the arguments at these
// addresses, which it copies.
Launch prepare(const void* kernel, void* const* arguments);

// A variable of device code, as it is on one device.
struct Variable {
  void* data;
  size_t bytes;
  bool constant, managed;
};
// Nothing if `symbol`, the address by which host code names it, is that of no variable.
std::optional<Variable> variable_of(const void* symbol, int device);
// The variables of a device that no call has returned since the last forget_variables(), for the memory map.
// A device half that enters its variables itself returns none.
std::vector<Variable> new_variables_of(int device);
// cudaDeviceReset(): the variables of device code get their first values again.
void forget_variables(int device);

// What cuTensorMapEncodeTiled() and cuTensorMapEncodeIm2col() do, without their check of the context.
CUresult encode_tiled_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                          const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                          const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                          CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                          CUtensorMapFloatOOBfill fill);
CUresult encode_im2col_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower_corner,
                           const int* upper_corner, cuuint32_t channels_per_pixel,
                           cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

}  // namespace simt
