// The collective operations that the program measures: sizes, bus factors and bounds.
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

// Elements per rank. `count` is the count in tables: the part that a rank contributes or keeps.
struct Extent {
  int64_t input = 0, output = 0, count = 0;
  int64_t larger() const { return input > output ? input : output; }
};

// For `elements` on the larger side, rounded down to a multiple of the ranks if each rank has a part.
Extent extent_of(Verb verb, int ranks, int64_t elements);

// The ratio of bus bandwidth to algorithm bandwidth S / t, where S is the bytes of the larger side: how often
// each byte crosses the busiest wire. 2 (n-1)/n for an all-reduce, (n-1)/n for operations on parts, 1 with a
// root.
double bus_factor(Verb verb, int ranks);

// The lower bound in seconds of an out-of-place operation on these devices, with S bytes on the larger side.
// It is the larger of two terms:
//   wire      each device's link carries bus_factor(number of different devices) * S; all links work at once
//   memory    the memory with the most ranks reads every input and writes every output once: with k ranks,
//             2 k S for an all-reduce or all-to-all, and (k + 1) S if one side has a single S
// `one_memory`: the devices share one memory, and there is no wire.
double bound_of(Verb verb, const std::vector<int>& devices, bool one_memory, double bytes,
                const LinkConstants& constants);

}  // namespace rondo::program
