#include <rondo/kernels/core/status.h>

namespace rondo {

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

StatusCode kind_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
    case cudaErrorLaunchOutOfResources:
      return StatusCode::out_of_resources;
    // The errors after which CUDA refuses all further work in the context.
    case cudaErrorInitializationError:
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
    case cudaErrorUnknown:
      return StatusCode::device_failed;
    default:
      return StatusCode::bad_argument;
  }
}

}  // namespace

Status from_cuda(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return {};
  // A recoverable error stays behind as "last error" and would be blamed on the next launch: take it away.
  // A sticky one comes back by itself.
  static_cast<void>(cudaGetLastError());
  return Status(kind_of(error),
                concat(what, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")"));
}

}  // namespace rondo
