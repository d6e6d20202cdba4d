// DeviceMemory: the memory that kernels of one device may access, as the interpreter asks for it.
#pragma once

#include "../device/interpreter.h"

namespace ptx {

// Allocations and variables of the device and of its peers, and pinned host memory. It lives as long as the
// process.
const MemoryMap& memory_of(int device);

}  // namespace ptx
