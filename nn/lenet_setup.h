// What comes before the first step: checking the options, and giving every rank its memory.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/lenet_replica.h>
#include <rondo/nn/stream_group.h>

namespace rondo::lenet {

// Throws a bad_argument Error that names the value and what would be valid.
void check_options(const FashionMnist& data, const Options& options);

// One replica a rank, on the group's devices and streams; ranks of one device share the data set.
std::vector<Replica> make_replicas(const FashionMnist& data, const Options& options,
                                   const StreamGroup& streams);

// Slots that take half a chunk of the gradients, so that they go round in one pass of all slots; no bucket.
CommunicatorOptions communicator_options(const Options& options);

}  // namespace rondo::lenet
