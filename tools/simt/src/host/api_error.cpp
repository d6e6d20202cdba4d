// cudaGetLastError and the error names.
#include "runtime.h"

namespace {

// The sticky error of a failed device is always returned; any other error only once.
cudaError_t last_error(bool forget) {
  using namespace simt;
  if (host_thread().in_host_function) return cudaErrorNotPermitted;
  cudaError_t error = host_thread().last_error;
  if (Runtime::started()) {
    try {
      const cudaError_t failure = Runtime::get().devices[static_cast<size_t>(host_thread().device)]->failure;
      if (failure != cudaSuccess) return failure;
    } catch (const Failure&) {
    }
  }
  if (forget) host_thread().last_error = cudaSuccess;
  return error;
}

}  // namespace

cudaError_t cudaGetLastError() { return last_error(true); }
cudaError_t cudaPeekAtLastError() { return last_error(false); }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define SIMT_ERROR(name, value, text) \
  case name:                          \
    return #name;
#include <simt/errors.inc>
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define SIMT_ERROR(name, value, text) \
  case name:                          \
    return text;
#include <simt/errors.inc>
#undef SIMT_ERROR
  }
  return "unrecognized error code";
}
