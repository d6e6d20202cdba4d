// `rondo train`: what happens between the command line and the last line of output.
#pragma once

#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/terminal.h>

#include <rondo/collectives/across_hosts/process_group.h>

#include <ostream>
#include <stdexcept>

namespace rondo::program {

// The run did what was asked of it, and what came out is of no use: losses that are not numbers, replicas
// that differ.
class TrainingFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws rondo::Error (a bad_argument before the training starts and before any file is written) and
// TrainingFailed.
//
// `processes`: those that train together, each with its own call; null: this one alone. The first of them shows
// and writes everything.
void train(const TrainArguments& arguments, std::ostream& out, const Terminal& terminal,
           ProcessGroup* processes = nullptr);

}  // namespace rondo::program
