#include <rondo/collectives/combine/combine.cuh>

namespace rondo {
template Status combine_of<__nv_bfloat16>(const char*, Reduction, SumOrder, const Combination&, cudaStream_t);
template Status load_combine_of<__nv_bfloat16>();
}
