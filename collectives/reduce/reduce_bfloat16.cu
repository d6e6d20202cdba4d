#include <rondo/collectives/reduce/reduce_vectors.cuh>

namespace rondo {
template Status reduce_of<__nv_bfloat16>(const char*, Reduction, SumOrder, const ReduceArguments&,
                                         cudaStream_t);
template Status load_reduce_of<__nv_bfloat16>();
}  // namespace rondo
