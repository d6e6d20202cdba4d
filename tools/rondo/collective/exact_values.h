// Test data for which the result of a collective operation is known exactly, in any order of additions: the
// check needs no tolerance. Values are small integers (floats: times a power of two), so that every partial
// sum is exact in its type; integer types use their full range and wrap. The value of rank r at index i
// depends on r, i and the seed, so that missing, duplicated, shifted and stale elements are detected.
#pragma once

#include <rondo/collectives/data_view.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/status.h>

#include <optional>

namespace rondo::program {

struct ExactData {
  std::optional<Reduction> reduction = {};  // nothing: the operation only moves data
  int ranks = 1;
  uint64_t seed = 0;
};

// The origin of output element i: element first_index + i % block of the reduction over all ranks or, without
// a reduction, of the input of rank first_rank + i / block.
struct Origin {
  int64_t block = 1;
  int64_t first_index = 0;
  int first_rank = 0;
};

// data[i] = the contribution of `rank` at index i. The data's device must be current.
[[nodiscard]] Status fill_exact(DataView data, const ExactData& exact, int rank, cudaStream_t stream);

// Adds the number of wrong elements of `output` to *wrong, which is in device memory. A NaN is wrong.
[[nodiscard]] Status count_wrong(unsigned long long* wrong, ConstDataView output, const ExactData& exact,
                                 const Origin& origin, cudaStream_t stream);

}  // namespace rondo::program
