// Algorithm: how a collective operation is carried out.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rondo {

enum class Algorithm : uint8_t {
  automatic,     // the fastest according to the cost model (cost_model.h)
  ring,          // each rank sends chunks to the next rank
  direct,        // every rank reads its shard from all others, sums it, and writes it to all others
  root,          // rank 0 reads all inputs, sums, and copies the result to all: the textbook baseline
  hierarchical,  // rings inside groups of ranks, direct between groups; the only one across processes
};

// The algorithms that treat all ranks as one group.
inline constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::direct, Algorithm::root};

constexpr const char* name_of(Algorithm algorithm) {
  constexpr const char* kNames[] = {"automatic", "ring", "direct", "root", "hierarchical"};
  return kNames[static_cast<int>(algorithm)];
}

// Returns the algorithm with that name, or nullopt if there is none.
constexpr std::optional<Algorithm> parse_algorithm(std::string_view name) {
  for (const Algorithm algorithm :
       {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical})
    if (name == name_of(algorithm)) return algorithm;
  return std::nullopt;
}

}  // namespace rondo
