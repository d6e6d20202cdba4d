// The ring's schedule as an SVG picture: one row per rank, one column per step, one colour per chunk.
#pragma once

#include <cstdint>
#include <string>

namespace rondo::program {

// ranks is from 1 to 64. Each cell is the chunk that its row's rank sends at its column's step. A cell is
// filled in proportion to the summed shares: rising in the reduce-scatter, full in the all-gather. Every cell
// has a tooltip.
std::string schedule_svg(int ranks, int64_t bytes);

}  // namespace rondo::program
