// `rondo train lenet`: what happens between the command line and the last line of output.
#pragma once

#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/terminal.h>
#include <rondo/tools/rondo/training_run.h>

#include <rondo/collectives/across_hosts/process_group.h>

#include <ostream>

namespace rondo::program {

// Throws rondo::Error (a bad_argument before the training starts and before any file is written) and
// TrainingFailed.
//
// `processes`: those that train together, each with its own call; null: this one alone. The first of them shows
// and writes everything.
void train(const TrainArguments& arguments, std::ostream& out, const Terminal& terminal,
           ProcessGroup* processes = nullptr);

}  // namespace rondo::program
