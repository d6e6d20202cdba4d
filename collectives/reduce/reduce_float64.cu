#include <rondo/collectives/reduce/reduce_vectors.cuh>

namespace rondo {
template Status reduce_of<double>(const char*, Reduction, SumOrder, const ReduceArguments&, cudaStream_t);
template Status load_reduce_of<double>();
}  // namespace rondo
