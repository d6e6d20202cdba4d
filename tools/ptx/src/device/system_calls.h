// Functions that CUDA provides to device code: vprintf, __assertfail, malloc, free.
#pragma once

#include <string_view>

#include "instruction.h"

namespace ptx {

Handler system_call(std::string_view name);  // null: it is not provided

}  // namespace ptx
