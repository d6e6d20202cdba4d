// GraphMemory: until the end of the scope, graphs take memory of the devices, and one device has little left.
// For tests on the CPU executor.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <simt/settings.h>

namespace rondo::test {

class GraphMemory {
 public:
  // What `device` has memory for.
  enum Enough { for_nothing, for_instantiation, for_launch };

  GraphMemory(int device, Enough enough) : device_(device) {
    // One graph fits once, of at most a thousand operations on the device.
    constexpr size_t kOperation = size_t{1} << 20, kMost = 1000 * kOperation;
    simt::set_graph_memory(enough == for_nothing ? 2 * kMost : kOperation);
    set_limit(used() + kMost);
    if (enough != for_instantiation) return;
    // Less than two shares of the smallest graph, of one operation.
    set_limit(used() + 2 * kOperation - 1);
  }
  ~GraphMemory() {
    simt::set_graph_memory(0);
    static_cast<void>(simt::set_memory_limit(device_, simt::settings().memory_bytes));
  }
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  size_t used() const {
    const DeviceScope scope(device_);
    size_t free = 0, total = 0;
    RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
    return total - free;
  }

 private:
  void set_limit(size_t bytes) const { RONDO_CUDA_THROW(simt::set_memory_limit(device_, bytes)); }

  int device_;
};

}  // namespace rondo::test
