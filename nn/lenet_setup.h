// What comes before the first step: checking the options, and giving every rank its memory.
#pragma once

#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/lenet_replica.h>
#include <rondo/nn/stream_group.h>

namespace rondo::lenet {

// Throws a bad_argument Error that names the value and what would be valid.
void check_options(const FashionMnist& data, const Options& options);

// One replica a rank, on the group's devices and streams; ranks of one device share the data set.
std::vector<Replica> make_replicas(const FashionMnist& data, const Options& options,
                                   const StreamGroup& streams);

// The size of a slot of the ring that holds a whole chunk of the gradients, so that one pass is enough.
int64_t communicator_slot_bytes(int ranks);

}  // namespace rondo::lenet
