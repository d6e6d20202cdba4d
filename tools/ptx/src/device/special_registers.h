// Special registers (PTX ISA 10).
#pragma once

#include <string_view>

#include "block.h"
#include "instruction.h"

namespace ptx {

// Reads a name such as "%tid.x". False: it is no special register of a constant value.
bool special_register(std::string_view name, SpecialRegister* special);

// The value in a lane of a warp.
uint32_t special_value(const SpecialRegister& special, const Warp& warp, uint32_t lane);

}  // namespace ptx
