// Products of warpgroups that were issued.
#pragma once

#include "warp.h"

namespace ptx {

// The part of one warp.
void execute_product(Warp& warp, const PendingProduct& product);

// Faults if the instruction uses an accumulator of a product that has not been waited for.
void check_not_in_flight(const Warp& warp, const Instruction& instruction);

}  // namespace ptx
