// The collective operations as the program measures them: sizes, factors and bounds.
#pragma once

#include <rondo/collectives/models/cost_model.h>

#include <cstdint>
#include <vector>

namespace rondo::program {

enum class Verb { all_reduce, reduce_scatter, all_gather, broadcast, reduce, all_to_all };

inline constexpr Verb kVerbs[] = {Verb::all_reduce, Verb::reduce_scatter, Verb::all_gather,
                                  Verb::broadcast,  Verb::reduce,         Verb::all_to_all};

const char* command_of(Verb verb);  // "allreduce"
bool reduces(Verb verb);
bool has_root(Verb verb);
bool works_in_place(Verb verb);

// Elements a rank. `count` is what tables call the count: of the part that a rank contributes or keeps.
struct Extent {
  int64_t input = 0, output = 0, count = 0;
  int64_t larger() const { return input > output ? input : output; }
};

// For `elements` of the larger side, rounded down to a multiple of the ranks where each rank has a part.
Extent extent_of(Verb verb, int ranks, int64_t elements);

// Bus bandwidth over algorithm bandwidth S / t, S the bytes of the larger side: how often each byte crosses the
// busiest wire. 2 (n-1)/n for an all-reduce, (n-1)/n where parts move, 1 from or to a root.
double bus_factor(Verb verb, int ranks);

// The least seconds, out of place, for ranks on these devices, S bytes on the larger side:
//   wire      each device's link carries bus_factor(of the different devices) * S; all of them at once
//   memory    the fullest memory reads every input once and writes every output once: k ranks on it make 2 k S for
//             an all-reduce or all-to-all, and (k + 1) S where one side has a single S
// and the larger of the two. `one_memory`: the devices share theirs, and there is no wire.
double bound_of(Verb verb, const std::vector<int>& devices, bool one_memory, double bytes,
                const LinkConstants& constants);

}  // namespace rondo::program
