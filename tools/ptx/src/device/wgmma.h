// Products of warpgroups that were issued.
#pragma once

#include "warp.h"

namespace ptx {

// The part of one warp.
void execute_product(Warp& warp, const PendingProduct& product);

}  // namespace ptx
