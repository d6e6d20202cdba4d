// LeNet's training in several processes: what they tell each other beside the gradients. With no process group every
// function here does nothing, or gives back what it is given.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/lenet_replica.h>

#include <vector>

namespace rondo::lenet {

// Ranks of all processes together, and how many of them come before this process's.
int total_ranks(const Options& options);
int first_rank(const Options& options);

// Throws a bad_argument Error, in every process, where one has other options or data than process 0.
void check_same_training(const FashionMnist& data, const Options& options);

// The parameters of process 0's replica.
void copy_params_from_first_process(Replica& replica, const Options& options);

// Of all ranks in their order, so that a sum over them is that of one process.
std::vector<LossTally> tallies_of_all(const std::vector<LossTally>& own, const Options& options);
LossTally sum(const std::vector<LossTally>& tallies);

// Of one number of each process.
int64_t sum_over_processes(int64_t own, const Options& options);

}  // namespace rondo::lenet
