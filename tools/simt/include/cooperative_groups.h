// Cooperative groups: blocks, tiles of warps, coalesced threads, grids.
//
// The lanes of coalesced_threads() are the calling thread alone, as of __activemask() (simt/warp.h). That is
// a result that CUDA allows: it promises no convergence.
#pragma once

#include <cuda_runtime.h>
#include <simt/grid.h>
#include <simt/groups/block.h>
#include <simt/groups/cluster.h>
#include <simt/groups/grid.h>
#include <simt/groups/thread_group.h>
#include <simt/groups/tile.h>
