// Forms of instructions and how often they were executed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "interpreter.h"

namespace ptx {

// A number for an opcode such as "add.f32", the same in all modules.
int form_number(std::string_view opcode);

void count_launch(const Kernel& kernel);
// Adds how often a worker has executed each instruction.
void add_counts(const Kernel& kernel, const std::vector<uint64_t>& counts);

}  // namespace ptx
