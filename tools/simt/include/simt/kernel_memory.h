// Which memory kernels may access, for libraries that check the operands of their operations.
#pragma once

#include <cstddef>
#include <string>

namespace simt {

// Why no kernel may access these bytes: they lie in no memory that CUDA has allocated or pinned, or reach
// beyond the end of an allocation. The result continues a sentence: "which is neither ...". Empty: they are
// memory of a device, or pinned or managed.
std::string refusal_of(const void* data, size_t bytes);

}  // namespace simt
