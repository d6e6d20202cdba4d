// Where a fault happened, as text.
#pragma once

#include <string>

#include "block.h"

namespace ptx {

std::string describe_instruction(const LaunchState& launch,
                                 const Instruction* instruction);  // file:line, its text
std::string describe_launch(const LaunchState& launch);            // kernel and shape
// Block, warp, file:line, instruction, and the lane with its thread; or the active lanes if `lane` is -1.
std::string describe_warp(const Warp& warp, int lane = -1);
std::string describe_waiting(const Warp& warp);  // with what its lanes wait for

}  // namespace ptx
