#include <rondo/collectives/reduce/reduce_vectors.cuh>

namespace rondo {
template Status reduce_of<int32_t>(const char*, Reduction, SumOrder, const ReduceArguments&, cudaStream_t);
template Status load_reduce_of<int32_t>();
}  // namespace rondo
