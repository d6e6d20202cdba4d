// `rondo schedule`: who sends which chunk to whom at which step of the ring, as a table or a picture. Read off
// collectives/algorithms/ring_schedule.h and nothing else.
#pragma once

#include <rondo/tools/rondo/arguments.h>

#include <cstdint>
#include <ostream>
#include <string>

namespace rondo::program {

// What one rank sends at one step.
struct Transfer {
  int step = 0, from = 0, to = 0, chunk = 0;
  int64_t bytes = 0;
  int shares = 0;     // of how many ranks the chunk holds the sum when it is sent
  bool adds = false;  // the receiver adds it to its own; else it keeps it
};

Transfer transfer_of(int rank, int step, int ranks, int64_t bytes);

// How the data is cut: "4 chunks of 4 MiB", or "chunks 0 to 1 of 16 bytes, chunk 2 of 8 bytes, chunk 3 empty".
std::string chunk_sizes(int ranks, int64_t bytes);

std::string schedule_text(int ranks, int64_t bytes);

// Writes the picture where one is asked for, else prints the table. Throws rondo::Error.
void show_schedule(const ScheduleArguments& arguments, std::ostream& out);

}  // namespace rondo::program
