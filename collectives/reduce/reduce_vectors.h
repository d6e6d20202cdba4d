// reduce_vectors(): the one computation of all collectives. Vectors become one, element by element.
#pragma once

#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>

namespace rondo {

inline constexpr int kMaxRanks = 64;

// out[i] = finish(partial_in[i] (+) in[0][i] (+) in[1][i] (+) ...), to every one of the outputs
//
// All pointers can be reached from the current device. A partial result has the type accumulator_of() and is
// what an unfinished reduction is passed on as: with `partial_out` there are no outputs and nothing is rounded
// or divided. An output may be an input or `partial_in` may be `partial_out`: each element is read before it is
// written, by the same thread. Otherwise nothing may overlap.
struct ReduceArguments {
  int inputs = 0;
  int outputs = 0;
  const void* in[kMaxRanks] = {};
  void* out[kMaxRanks] = {};
  const void* partial_in = nullptr;
  void* partial_out = nullptr;
  int64_t size = 0;
  int divisor = 1;  // of an average: over how many inputs it goes in all
};

// The order of the additions is that of `in`, partial_in first. balanced_tree knows no partial results.
Status reduce_vectors(const char* operation, DType dtype, Reduction reduction, SumOrder order,
               const ReduceArguments& combination, cudaStream_t stream);

// Loads all kernels of reduce_vectors() on the current device (launch.cuh, load()).
Status load_reduce_kernels();

// The type of partial results.
DType accumulator_of(DType dtype, Reduction reduction);

// Where in a scratch memory, aligned to 16 bytes, partial results (or copies) of elements of `element_bytes`
// should begin, so that they lie to the 16-byte boundaries as the data lie and can be read in packs together.
int64_t lead_of(const void* data, DType dtype);

}  // namespace rondo
