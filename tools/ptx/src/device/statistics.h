// Forms of instructions and how often they were executed.
#pragma once

#include <string_view>

#include "interpreter.h"

namespace ptx {

// A number for an opcode such as "add.f32", the same in all modules.
int form_number(std::string_view opcode);

void count_launch(const Kernel& kernel);
void prepare_counts(const Kernel& kernel);  // of instructions, before they are executed

}  // namespace ptx
