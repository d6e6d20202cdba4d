// `rondo train lenet --from-scratch`: runs the lesson nn/lenet_from_scratch.cpp.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/tools/rondo/support/terminal.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <ostream>

namespace rondo::program {

// Throws rondo::Error (a bad_argument before the training starts and before any file is written, also for
// options that the lesson does not support and for several processes) and TrainingFailed.
void train_from_scratch(const NetworkArguments& arguments, std::ostream& out, const Terminal& terminal,
                        const ProcessGroup* processes = nullptr);

}  // namespace rondo::program
