#include <cuda_runtime.h>

#include <rondo/kernels/runtime/platform.h>

#include <cstdlib>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo {

#ifdef __SIMT__
const char* platform() { return "cpu"; }
#else
const char* platform() { return "cuda"; }
#endif

void set_cuda_environment() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0); }

std::string device_label(int device) { return concat(platform(), ":", device); }

Status count_devices(int& count) {
  count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  return from_cuda(error, "counting the devices");
}

int device_count() {
  int count = 0;
  return count_devices(count).ok() ? count : 0;
}

std::string describe_device(int device) {
  cudaDeviceProp properties;
  Status status =
      from_cuda(cudaGetDeviceProperties(&properties, device), concat("asking for device ", device));
  if (!status.ok()) return status.message();
#ifdef __SIMT__
  return concat(device_label(device), ", ", properties.name, " on ", simt::settings().workers,
                " worker threads shared by all devices");
#else
  return concat(device_label(device), ", ", properties.name, ", ", properties.multiProcessorCount,
                " multiprocessors, ", properties.totalGlobalMem >> 20, " MiB, compute capability ",
                properties.major, ".", properties.minor);
#endif
}

Status request_devices(int count) {
  if (count < 0) return bad_argument("request_devices: count is ", count, ", must not be negative");
#ifdef __SIMT__
  if (count > simt::kMostDevices)
    return bad_argument("device ", count - 1, " was asked for and the CPU executor makes at most ",
                        simt::kMostDevices, " devices");
  // Set the count before the first CUDA call: the executor creates its devices there.
  if (count > simt::settings().devices) static_cast<void>(simt::set_device_count(count));
#endif
  int present = 0;
  RONDO_RETURN_IF_ERROR(count_devices(present));
  if (count <= present) return {};
  return bad_argument("device ", count - 1, " was asked for and this machine has ", present,
                      " CUDA device(s); a device may be named several times, as in --devices 0,0");
}

}  // namespace rondo
