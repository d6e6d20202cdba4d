// `rondo profile --draw FILE:LINE`: the lanes of a line's worst requests.
#pragma once

#include <rondo/tools/rondo/banks/banks.h>
#include <rondo/tools/rondo/profile/profile.h>

#include <string>
#include <vector>

namespace rondo::program {

// For each access of the line (a cp.async has two: of global and of shared memory), its worst request in all
// kernels of the report: the one with the most sectors or wavefronts over the least. `line` is one of
// --lines, such as "kernels/gemm/fma/tile.cuh:20 (gemm.cu:7)", or a part of it: "tile.cuh:20" or "gemm.cu:7".
// Throws a bad_argument Error with the lines that there are if no access has this line.
std::vector<AccessDrawing> drawings_of_line(const ProfileReport& report, const std::string& line);

}  // namespace rondo::program
