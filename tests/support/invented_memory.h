// Memory that does not exist, for calls that must not access it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace rondo::test {

// The CPU executor takes it for registered memory of the host. A GPU does not know it, and is not asked.
class InventedMemory {
 public:
  explicit InventedMemory(int64_t bytes) {
    cudaHostRegister(data<void>(), static_cast<size_t>(bytes), cudaHostRegisterDefault);
    cudaGetLastError();
  }
  ~InventedMemory() {
    cudaHostUnregister(data<void>());
    cudaGetLastError();
  }
  InventedMemory(const InventedMemory&) = delete;
  InventedMemory& operator=(const InventedMemory&) = delete;

  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(uintptr_t{1} << 50);
  }
};

}  // namespace rondo::test
