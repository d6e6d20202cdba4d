// Variables of device code: __device__ and __constant__.
#include <cuda_runtime_api.h>

#include "../base/device_half.h"
#include "runtime.h"

using namespace simt;

void simt::know_variables(Runtime& runtime, int device) {
  for (const Variable& variable : new_variables_of(device))
    runtime.memory.add_variable(variable.managed ? 0 : device, variable.data, variable.bytes,
                                variable.constant, variable.managed);
}

namespace {

// On the current device.
Variable known_variable(Runtime& runtime, const void* symbol) {
  know_variables(runtime, host_thread().device);
  const std::optional<Variable> variable = variable_of(symbol, host_thread().device);
  require(variable.has_value(), cudaErrorInvalidSymbol);
  return *variable;
}

// A copy to or from a part of a variable of the current device. `copy` gets its address.
template <class Copy>
cudaError_t copy_symbol(const void* symbol, size_t bytes, size_t offset, const Copy& copy) {
  return api([&](Runtime& runtime) {
    const Variable variable = known_variable(runtime, symbol);
    require(offset <= variable.bytes && bytes <= variable.bytes - offset, cudaErrorInvalidValue);
    return copy(static_cast<char*>(variable.data) + offset);
  });
}

}  // namespace

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return api([&](Runtime& runtime) {
    require(pointer, cudaErrorInvalidValue);
    *pointer = known_variable(runtime, symbol).data;
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return api([&](Runtime& runtime) {
    require(bytes, cudaErrorInvalidValue);
    *bytes = known_variable(runtime, symbol).bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return copy_symbol(symbol, bytes, offset, [&](void* to) { return cudaMemcpy(to, from, bytes, kind); });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return copy_symbol(symbol, bytes, offset, [&](void* from) { return cudaMemcpy(to, from, bytes, kind); });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol(symbol, bytes, offset,
                     [&](void* to) { return cudaMemcpyAsync(to, from, bytes, kind, stream); });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol(symbol, bytes, offset,
                     [&](void* from) { return cudaMemcpyAsync(to, from, bytes, kind, stream); });
}
