// `rondo schedule`: which rank sends which chunk at which step of the ring, as a table, a picture or a page.
// Computed from collectives/ring_schedule.h.
#pragma once

#include <rondo/tools/rondo/schedule/arguments.h>

#include <cstdint>
#include <ostream>
#include <string>

namespace rondo::program {

// What one rank sends at one step.
struct Transfer {
  int step = 0, from = 0, to = 0, chunk = 0;
  int64_t bytes = 0;
  int shares = 0;     // the number of ranks whose data is summed in the chunk that is sent
  bool adds = false;  // the receiver adds its own data; else it stores the chunk
};

Transfer transfer_of(int rank, int step, int ranks, int64_t bytes);

// The chunk sizes: "4 chunks of 4 MiB", or "chunks 0 to 1 of 16 bytes, chunk 2 of 8 bytes, chunk 3 empty".
std::string chunk_sizes(int ranks, int64_t bytes);

std::string schedule_text(int ranks, int64_t bytes);

// Writes the files that are requested, or prints the table if none is. Throws rondo::Error.
void show_schedule(const ScheduleArguments& arguments, std::ostream& out);

}  // namespace rondo::program
