// Blocks at the start of a launch.
#pragma once

#include <memory>

#include "block.h"

namespace ptx {

// Cluster `number` of the launch, with registers, shared and local memory in their initial state.
std::unique_ptr<Cluster> start_cluster(const LaunchState& launch, uint64_t number);

// The warp has exited: the worker uses its registers again.
void give_back_registers(Warp& warp, const Code& code);

}  // namespace ptx
