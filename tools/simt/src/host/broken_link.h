#pragma once

#include <memory>
#include <vector>

#include "memory.h"

namespace simt {

// Redirects those arguments of a kernel on `device` that point across a broken link to private stand-in
// memory, which the returned object owns. See set_peer_access().
std::vector<std::shared_ptr<void>> cut_off(Memory& memory, int device,
                                           const std::vector<Argument>& arguments);

}  // namespace simt
