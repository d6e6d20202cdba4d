#pragma once

#include <string>

namespace simt {

// The name of the kernel at this address, for messages.
std::string kernel_name(const void* kernel);

}  // namespace simt
