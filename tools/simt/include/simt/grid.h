// The blocks of a cooperative launch (cudaLaunchCooperativeKernel), which run at the same time.
#pragma once

#include <simt/barrier.h>

namespace simt {

bool grid_is_cooperative();

// Waits for all threads of the grid that have not exited. What was written before is visible after it. A
// fault in a launch that is not cooperative.
void grid_sync(Place place = Place::current());

}  // namespace simt
