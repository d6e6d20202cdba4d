// Algorithm: the ways in which a collective operation can be carried out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rondo {

enum class Algorithm : uint8_t {
  automatic,     // the fastest by the cost model (cost_model.h)
  ring,          // chunks walk from neighbour to neighbour
  direct,        // every rank reads its shard from all others, sums it, and hands it to all others
  root,          // rank 0 fetches everything, sums, and hands out: the textbook's baseline
  hierarchical,  // rings in groups of ranks, and the groups directly; across processes, the only one
};

// Those that take all ranks for one group.
inline constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::direct, Algorithm::root};

constexpr const char* name_of(Algorithm algorithm) {
  constexpr const char* kNames[] = {"automatic", "ring", "direct", "root", "hierarchical"};
  return kNames[static_cast<int>(algorithm)];
}

// The algorithm of that name; nothing where there is none.
constexpr std::optional<Algorithm> parse_algorithm(std::string_view name) {
  for (const Algorithm algorithm :
       {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical})
    if (name == name_of(algorithm)) return algorithm;
  return std::nullopt;
}

}  // namespace rondo
