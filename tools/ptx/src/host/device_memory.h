// DeviceMemory: the memory that kernels of one device may access, as the interpreter asks for it.
#pragma once

#include "../device/interpreter.h"

namespace ptx {

// Allocations and variables of the device and of its peers, and pinned host memory. It lives as long as the
// process.
const MemoryMap& memory_of(int device);

// The memory of malloc() in the device's kernels: its size is cudaLimitMallocHeapSize of the first launch.
std::shared_ptr<Heap> heap_of(int device);
void forget_heap(int device);

}  // namespace ptx
