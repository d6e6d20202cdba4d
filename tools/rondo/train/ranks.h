// The ranks of a training, from --devices, --algorithm, --group, --device-count-invariant and the processes
// of mpirun.
#pragma once

#include <rondo/nn/train/data_parallel.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <string>

namespace rondo::program {

// Replicas over all processes. The default is `in_one` for a single process and 1 for each of several
// processes.
int64_t replicas_for(const RanksArguments& arguments, int in_one, const ProcessGroup* processes);

// Throws a bad_argument Error for options that exclude each other.
void check_ranks(const RanksArguments& arguments, int in_one, const ProcessGroup* processes);

// The devices of this process's ranks, which exist on return; the first one is current. Throws rondo::Error.
std::vector<int> take_ranks(const RanksArguments& arguments, int in_one, const ProcessGroup* processes);

// Sets devices, algorithm, order, group_size, processes and the arithmetic of `options`; its batch must be
// set. `devices` are those of take_ranks(). Throws as check_ranks() does.
void set_ranks(nn::DataParallelOptions& options, const RanksArguments& arguments, std::vector<int> devices,
               int in_one, ProcessGroup* processes);

// Chooses the ranks' placement and the algorithm from the measurements of `rondo links` on this machine.
// Returns a note about the measurements, or "".
std::string use_links(nn::DataParallelOptions& options);

// The devices to print: with device-count invariance, each device once.
std::vector<int> shown_devices(const nn::DataParallelOptions& options);

// Describes what determines the order of additions over the ranks: "4", "4 in groups of 2", "8 sample
// blocks".
std::string ranks_text(const nn::DataParallelOptions& options);

// "ring all-reduce in bf16"
std::string all_reduce_text(const nn::DataParallelOptions& options);
// "2 replicas, ring all-reduce", "1 replica"
std::string parallelism_text(const nn::DataParallelOptions& options);
// "256", "256 in 4 micro-batches"
std::string batch_text(const nn::DataParallelOptions& options);
// A note if a --reduce-dtype has no effect, or "".
std::string reduce_dtype_note(const nn::DataParallelOptions& options);

}  // namespace rondo::program
