// Asynchronous operations that a warp issued and that have not happened.
#pragma once

#include "block.h"
#include "warp.h"

namespace ptx {

// cp.async: all of the lanes'.
void finish_copies(Warp& warp, uint32_t lanes);
// Bulk copies from shared memory: all of the lanes'.
void finish_stores(Warp& warp, uint32_t lanes);

// One operation, chosen by a drawn number.
void perform_drawn_copy(Warp& warp, uint64_t drawn);
void perform_drawn_store(Warp& warp, uint64_t drawn);
void perform_next_product(Warp& warp);  // products of a warp are in order

// Bulk copies to shared memory wait in the cluster.
void perform_load(Cluster& cluster, uint64_t drawn);

}  // namespace ptx
