#include <rondo/tools/rondo/collective/verb.h>

#include <algorithm>
#include <map>

namespace rondo::program {
namespace {

bool has_parts(Verb verb) {
  return verb == Verb::reduce_scatter || verb == Verb::all_gather || verb == Verb::all_to_all;
}

}  // namespace

const char* command_of(Verb verb) {
  constexpr const char* kNames[] = {"allreduce", "reducescatter", "allgather",
                                    "broadcast", "reduce",        "alltoall"};
  return kNames[static_cast<int>(verb)];
}

bool reduces(Verb verb) {
  return verb == Verb::all_reduce || verb == Verb::reduce_scatter || verb == Verb::reduce;
}
bool has_root(Verb verb) { return verb == Verb::broadcast || verb == Verb::reduce; }
bool works_in_place(Verb verb) { return verb != Verb::all_to_all; }

Extent extent_of(Verb verb, int ranks, int64_t elements) {
  if (!has_parts(verb)) return {elements, elements, elements};
  const int64_t part = elements / ranks, whole = part * ranks;
  return {verb == Verb::all_gather ? part : whole, verb == Verb::reduce_scatter ? part : whole, part};
}

double bus_factor(Verb verb, int ranks) {
  const double n = ranks;
  if (has_root(verb)) return 1;
  return (verb == Verb::all_reduce ? 2 : 1) * (n - 1) / n;
}

double bound_of(Verb verb, const std::vector<int>& devices, bool one_memory, double bytes,
                const LinkConstants& constants) {
  std::map<int, int> ranks_on;
  int most = 0;
  for (const int device : devices) most = std::max(most, ++ranks_on[one_memory ? 0 : device]);
  const bool both_sides = verb == Verb::all_reduce || verb == Verb::all_to_all;
  const double memory = (both_sides ? 2 * most : most + 1) * bytes / constants.memory_bandwidth;
  const auto memories = static_cast<int>(ranks_on.size());
  if (memories == 1) return memory;
  return std::max(memory, bus_factor(verb, memories) * bytes / constants.wire_bandwidth);
}

}  // namespace rondo::program
