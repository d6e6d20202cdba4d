// The source line by which a reader knows an access.
#pragma once

#include <simt/observe.h>

#include <string>

namespace rondo::program {

// "kernels/gemm/ladder/gemm_03_shared_tiles.cu:33": the innermost line outside of the executor and of
// kernels/core, whose loads and stores are those of their callers. If it is in another file than the kernel,
// the kernel's line follows: "kernels/gemm/ladder/gemm_elements.cuh:11 (gemm_01_naive.cu:23)". "?" without
// debug information.
std::string source_place(const simt::AccessCounts& access);

}  // namespace rondo::program
