// cudaGetLastError and the error names.
#include "runtime.h"
#include "unread_errors.h"

namespace {

// The sticky error of a failed device is always returned; any other error only once.
cudaError_t last_error(bool forget) {
  using namespace simt;
  if (host_thread().in_host_function) return cudaErrorNotPermitted;
  launch_errors_were_read();
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

struct NamedError {
  cudaError_t error;
  const char *name, *text;
};
constexpr NamedError kErrors[] = {
#define SIMT_ERROR(name, value, text) {name, #name, text},
#include <simt/errors.inc>
#undef SIMT_ERROR
};

NamedError named(cudaError_t error) {
  for (const NamedError& known : kErrors)
    if (known.error == error) return known;
  return {error, "unrecognized error code", "unrecognized error code"};
}

}  // namespace

cudaError_t cudaGetLastError() { return last_error(true); }
cudaError_t cudaPeekAtLastError() { return last_error(false); }

const char* cudaGetErrorName(cudaError_t error) { return named(error).name; }
const char* cudaGetErrorString(cudaError_t error) { return named(error).text; }
