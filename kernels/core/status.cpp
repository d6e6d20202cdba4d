#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>

namespace rondo {

namespace detail {
void write_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }

std::string concat_parts(std::span<const TextPart> parts) {
  TextStream text;
  for (const TextPart& part : parts) part.write(text, part.value);
  return text.str();
}
}  // namespace detail

const char* name_of(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return "ok";
    case StatusCode::bad_argument:
      return "bad argument";
    case StatusCode::out_of_resources:
      return "out of resources";
    case StatusCode::device_failed:
      return "device failed";
    case StatusCode::timed_out:
      return "timed out";
  }
  return "unknown";
}

namespace {

// Not every supported toolkit has these names. CUDA rejects all further work after them, too.
constexpr int kErrorContained = 226, kErrorTensorMemoryLeak = 721;

StatusCode kind_of(cudaError_t error) {
  if (error == kErrorContained || error == kErrorTensorMemoryLeak) return StatusCode::device_failed;
  switch (error) {
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchOutOfResources:
      return StatusCode::out_of_resources;
    // After these errors CUDA rejects all further work.
    case cudaErrorInitializationError:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorMisalignedAddress:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContextIsDestroyed:
    case cudaErrorExternalDevice:
    case cudaErrorMpsClientTerminated:
    case cudaErrorUnknown:
      return StatusCode::device_failed;
    default:
      return StatusCode::bad_argument;
  }
}

// True if the program has no kernel that the device can run.
bool lacks_kernels(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
         error == cudaErrorUnsupportedPtxVersion;
}

// How to fix it; empty if the device's properties cannot be read.
std::string missing_kernels_text() {
  int device = 0;
  cudaDeviceProp properties;
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  return concat("this program was not compiled for device ", device, ", ", properties.name,
                ", of compute capability ", properties.major, ".", properties.minor,
                "; configure it with -DCMAKE_CUDA_ARCHITECTURES=", properties.major, properties.minor);
}

}  // namespace

Status from_cuda(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return {};
  // Clears a recoverable error. Otherwise it would stay the "last error" and be reported for the next launch.
  // A sticky error returns by itself.
  static_cast<void>(cudaGetLastError());
  std::string why = lacks_kernels(error) ? missing_kernels_text() : "";
  if (why.empty()) why = cudaGetErrorString(error);
  return Status(kind_of(error), concat(what, ": ", why, " (", cudaGetErrorName(error), ")"));
}

}  // namespace rondo
