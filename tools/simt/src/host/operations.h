// Operations: what a kernel launch, a copy, a fill or a host function does, in a stream or in a node of a
// graph. These functions check the parameters, throw Failure, and take the mutex of the runtime.
#pragma once

#include <simt/launch.h>

#include <memory>

#include "task.h"

namespace simt {

struct Runtime;

// A copy of one row.
inline Transfer flat_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return {.name = "a copy",
          .to = to,
          .from = from,
          .to_pitch = bytes,
          .from_pitch = bytes,
          .width = bytes,
          .kind = kind};
}

// A copy of a box.
Transfer box_copy(const cudaMemcpy3DParms* params);

// On the current device.
std::shared_ptr<Operation> kernel_operation(Runtime& runtime, const cudaLaunchConfig_t& config,
                                            Launch launch);
// Without a device, which is that of the stream or the current one. A copy and a fill must not be empty.
std::shared_ptr<Operation> copy_operation(Runtime& runtime, Transfer copy);
std::shared_ptr<Operation> fill_operation(Runtime& runtime, Transfer fill);
std::shared_ptr<Operation> host_operation(const cudaHostNodeParams& call);

}  // namespace simt
