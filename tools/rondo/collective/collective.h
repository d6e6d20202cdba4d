// `rondo allreduce` and its sisters: every size, type and reduction that was asked for, timed and checked.
#pragma once

#include <rondo/tools/rondo/collective/arguments.h>
#include <rondo/tools/rondo/collective/engine.h>
#include <rondo/tools/rondo/collective/report.h>

#include <rondo/collectives/across_hosts/process_group.h>

#include <ostream>
#include <stdexcept>

namespace rondo::program {

// The operation ran, and its result was wrong.
class WrongResults : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Prints the table as it is made; `report` comes with what is known before, and leaves with its rows and fits.
// Throws rondo::Error.
void measure_collective(const CollectiveArguments& arguments, Engine& engine, CollectiveReport& report,
                        std::ostream& out);

void throw_if_wrong(const CollectiveReport& report);

// Throws rondo::Error, and WrongResults after everything else was printed and written.
// `processes`: those that do it together, each with its own call; null: this one alone. The first of them
// shows and writes everything.
void run_collective(const CollectiveArguments& arguments, std::ostream& out,
                    ProcessGroup* processes = nullptr);

}  // namespace rondo::program
