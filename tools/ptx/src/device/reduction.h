// Operations of atom, red and cp.reduce.
#pragma once

#include <cstdint>
#include <string_view>

#include "types.h"

namespace ptx {

enum class Reduction : uint8_t { add, exch, cas, min, max, inc, dec, and_, or_, xor_, none };

Reduction reduction_named(std::string_view name);  // none: it is no operation

// Combines the elements at `from` into those at `to`, each atomically. False: the type has no such operation.
bool reduce_elements(Type type, Reduction reduction, char* to, const char* from, uint32_t bytes);
bool can_reduce(Type type, Reduction reduction);

}  // namespace ptx
