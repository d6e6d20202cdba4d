// reduce_vectors(): the computation of all reductions. Reduces several vectors to one, element by element.
#pragma once

#include <rondo/collectives/types.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>

namespace rondo {

// out[i] = finish(partial_in[i] (+) in[0][i] (+) in[1][i] (+) ...), for each of the outputs
//
// All pointers must be accessible from the current device. Partial results have the type accumulator_of() and
// carry an unfinished reduction: if `partial_out` is set there are no outputs, and nothing is rounded or
// divided. Those of an average of bfloat16 have another unit (arithmetic.cuh), so only an average finishes
// them. An output may be one of the inputs, and `partial_out` may be `partial_in`: each element is read
// before it is written, by the same thread. No other overlap is allowed.
struct ReduceArguments {
  int inputs = 0;
  int outputs = 0;
  const void* in[kMaxRanks] = {};
  void* out[kMaxRanks] = {};
  const void* partial_in = nullptr;
  void* partial_out = nullptr;
  int64_t size = 0;
  int divisor = 1;  // for an average: the total number of inputs

  void read(const void* input) { in[inputs++] = input; }
  void write(void* output) { out[outputs++] = output; }
};

// Adds in the order of `in`, with partial_in first. balanced_tree does not support partial results.
Status reduce_vectors(const char* operation, DType dtype, Reduction reduction, SumOrder order,
                      const ReduceArguments& arguments, cudaStream_t stream);

// Loads all kernels of reduce_vectors() on the current device (load() in launch.cuh).
Status load_reduce_kernels();

// The type of partial results.
DType accumulator_of(DType dtype, Reduction reduction);

// The number of elements by which `data` lies past a 16-byte boundary. Partial results and copies in scratch
// memory start this many elements after a 16-byte boundary, so that they can be read in packs together with
// the data.
int64_t lead_of(const void* data, DType dtype);

}  // namespace rondo
