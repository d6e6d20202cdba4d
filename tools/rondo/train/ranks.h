// The ranks of a training: what --devices, --algorithm, --group, --device-count-invariant and the processes of mpirun
// come to.
#pragma once

#include <rondo/nn/train/data_parallel.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <string>

namespace rondo::program {

// Replicas over all processes: `in_one` in a process of its own that was not told how many.
int64_t replicas_for(const RanksArguments& arguments, int in_one, const ProcessGroup* processes);

// Sets devices, algorithm, order, group_size and processes of `options`, whose batch is set. Throws a
// bad_argument Error for arguments that do not go together. The devices exist when this returns, and the
// first is current.
void set_ranks(nn::DataParallelOptions& options, const RanksArguments& arguments, int in_one,
               ProcessGroup* processes);

// Puts ranks on devices, and chooses the algorithm, by what `rondo links` has measured on this machine; "" or
// a note about that. Reduced at a time: `bytes`.
std::string use_links(nn::DataParallelOptions& options, int64_t bytes);

// The devices for a line of text: in fixed order each once.
std::vector<int> shown_devices(const nn::DataParallelOptions& options);

// What the order of additions over the ranks depends on: "4", "4 in groups of 2", "8 sample blocks".
std::string ranks_text(const nn::DataParallelOptions& options);

}  // namespace rondo::program
