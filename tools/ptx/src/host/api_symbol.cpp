// Variables of device code: __device__ and __constant__.
#include <cuda_runtime_api.h>

#include "program.h"
#include "runtime.h"

using namespace simt;

namespace {

ptx::Variable variable_of(const void* symbol) {
  return ptx::Program::get().variable(symbol, host_thread().device);
}

// A copy to or from a part of a variable of the current device. `copy` gets its address.
template <class Copy>
cudaError_t copy_symbol(const void* symbol, size_t bytes, size_t offset, const Copy& copy) {
  return api([&](Runtime&) {
    const ptx::Variable variable = variable_of(symbol);
    require(offset <= variable.bytes && bytes <= variable.bytes - offset, cudaErrorInvalidValue);
    return copy(static_cast<char*>(variable.data) + offset);
  });
}

}  // namespace

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return api([&](Runtime&) {
    require(pointer, cudaErrorInvalidValue);
    *pointer = variable_of(symbol).data;
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return api([&](Runtime&) {
    require(bytes, cudaErrorInvalidValue);
    *bytes = variable_of(symbol).bytes;
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
