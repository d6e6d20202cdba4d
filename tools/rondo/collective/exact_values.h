// Data of which the result of a collective operation is known exactly, whatever the order in which it adds: a check
// that needs no tolerance. The values are small whole numbers (floats: times a power of two) so that every partial sum
// is exact in the type in which it is kept; integers are whatever fits, and wrap. What rank r holds at index i depends
// on r, on i and on the seed, so that a missing, a doubled, a shifted and a stale element show.
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

// What output element i is: element first_index + i % block of the reduction of all ranks or, where nothing is reduced,
// of the input of rank first_rank + i / block.
struct Origin {
  int64_t block = 1;
  int64_t first_index = 0;
  int first_rank = 0;
};

// data[i] = what `rank` contributes at index i. On the data's device, which must be current.
[[nodiscard]] Status fill_exact(DataView data, const ExactData& exact, int rank, cudaStream_t stream);

// Adds to *wrong, in device memory, how many elements of `output` are not what they must be. A NaN is wrong.
[[nodiscard]] Status count_wrong(unsigned long long* wrong, ConstDataView output, const ExactData& exact,
                                 const Origin& origin, cudaStream_t stream);

}  // namespace rondo::program
