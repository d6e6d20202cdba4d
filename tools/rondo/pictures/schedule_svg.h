// The ring's schedule as an SVG picture: a row a rank, a column a step, a colour a chunk.
#pragma once

#include <cstdint>
#include <string>

namespace rondo::program {

// ranks from 1 to 64. Each cell is what its row's rank sends at its column's step; it is filled as far as the
// chunk is summed, so that the reduce-scatter rises and the all-gather is full. Every cell has a sentence that
// a browser shows under the pointer.
std::string schedule_svg(int ranks, int64_t bytes);

}  // namespace rondo::program
