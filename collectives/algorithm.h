// Algorithm: how a collective operation is carried out.
#pragma once

#include <cstdint>

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

}  // namespace rondo
