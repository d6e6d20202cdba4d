// The accesses of a kernel by source line.
#pragma once

#include <simt/observe.h>

#include <string>
#include <vector>

namespace rondo::program {

// The accesses of a kernel with those of one line, kind and width added up: the compiler makes many of a line
// in a loop that it unrolls. `worst` is the worst of all.
std::vector<simt::AccessCounts> accesses_by_line(const simt::KernelProfile& profile);

// "shared cp.async store"
std::string access_text(const simt::AccessCounts& access);

// Whether shared memory treats it as a store.
bool stores(const simt::AccessCounts& access);

// The sectors or wavefronts of the worst request over the least.
int worst_excess(const simt::AccessCounts& access);

// Cycles of the load-store unit of a multiprocessor: one for each wavefront of shared memory, or for 4
// sectors of global memory, and at least one for each request.
double load_store_cycles(const simt::AccessCounts& access);

}  // namespace rondo::program
