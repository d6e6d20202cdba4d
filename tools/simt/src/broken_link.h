#pragma once

#include <memory>
#include <vector>

#include "memory.h"

namespace simt {

// Points those arguments of a kernel on `device` that lead over a broken link to memory which stands in for the
// peer's: nobody else sees it, and it goes with the result. See set_peer_access().
std::vector<std::shared_ptr<void>> cut_off(Memory& memory, int device,
                                           const std::vector<Argument>& arguments);

}  // namespace simt
