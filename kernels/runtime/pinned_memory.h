// PinnedMemory: owns host memory that devices read and write directly.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rondo {

// CUDA may free the memory while a copy uses it, so the owner waits for its copies first.
class PinnedMemory {
 public:
  PinnedMemory() = default;  // none
  // `flags`: those of cudaHostAlloc(). `purpose` ends the message of an error: "for a batch". Throws
  // rondo::Error: out_of_resources.
  PinnedMemory(int64_t bytes, const std::string& purpose, unsigned flags = cudaHostAllocDefault)
      : bytes_(bytes) {
    std::byte* memory = nullptr;
    throw_if_error(
        from_cuda(cudaHostAlloc(reinterpret_cast<void**>(&memory), static_cast<size_t>(bytes), flags),
                  concat("allocating ", counted(bytes, "byte"), " of pinned host memory ", purpose)));
    memory_.reset(memory);
  }

  std::byte* data() const { return memory_.get(); }
  int64_t bytes() const { return memory_ ? bytes_ : 0; }
  // Leaves the memory to the process for ever, because work that was given up may still write there.
  void abandon() { static_cast<void>(memory_.release()); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { static_cast<void>(cudaFreeHost(memory)); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  int64_t bytes_ = 0;
};

}  // namespace rondo
