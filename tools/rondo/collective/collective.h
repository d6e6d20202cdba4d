// `rondo allreduce` and the other collectives: times and checks every requested size, type and reduction.
#pragma once

#include <rondo/tools/rondo/collective/arguments.h>
#include <rondo/tools/rondo/collective/engine.h>
#include <rondo/tools/rondo/collective/report.h>

#include <rondo/collectives/across_hosts/process_group.h>

#include <ostream>
#include <stdexcept>

namespace rondo::program {

// The operation ran, but its result was wrong.
class WrongResults : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Prints the table row by row. `report` holds the constants and placement on entry; its rows and fits are
// added. Throws rondo::Error.
void measure_collective(const CollectiveArguments& arguments, Engine& engine, CollectiveReport& report,
                        std::ostream& out);

void throw_if_wrong(const CollectiveReport& report);

// Throws rondo::Error, and WrongResults after all output is printed and written. `processes`: the processes
// that measure together, each with its own call; null: this process only. The first process prints and writes
// all output.
void run_collective(const CollectiveArguments& arguments, std::ostream& out,
                    ProcessGroup* processes = nullptr);

}  // namespace rondo::program
