// Where a fault happened, as text.
#pragma once

#include <string>

#include "block.h"

namespace ptx {

std::string describe_instruction(const LaunchState& launch,
                                 const Instruction* instruction);  // file:line, its text
std::string describe_launch(const LaunchState& launch);            // kernel and shape
std::string describe_warp(const Warp& warp);     // block, warp, lanes, file:line, instruction
std::string describe_waiting(const Warp& warp);  // with what its lanes wait for

}  // namespace ptx
