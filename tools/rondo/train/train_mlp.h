// `rondo train mlp`: time and memory of a training step of a deep MLP: on one device, with a split batch, or
// with the whole batch on every device.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/tools/rondo/support/terminal.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <ostream>

namespace rondo::program {

// Throws rondo::Error (a bad_argument before the training starts and before any file is written) and
// TrainingFailed. `processes`: the processes that train together, each with its own call; null: this process
// only. The first process prints and writes all output.
void train_mlp(const MlpArguments& arguments, std::ostream& out, const Terminal& terminal,
               ProcessGroup* processes = nullptr);

}  // namespace rondo::program
