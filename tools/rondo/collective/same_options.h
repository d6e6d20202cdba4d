// Checks that processes that measure together got the same options.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/tools/rondo/collective/arguments.h>

namespace rondo::program {

// Waits for all processes, each of which has `ranks` ranks. Throws a bad_argument Error in all processes that
// names an option that differs, its values and their processes.
void check_same_options(ProcessGroup& processes, const CollectiveArguments& arguments, int ranks);

}  // namespace rondo::program
