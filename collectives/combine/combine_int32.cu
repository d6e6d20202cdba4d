#include <rondo/collectives/combine/combine.cuh>

namespace rondo {
template Status combine_of<int32_t>(const char*, Reduction, SumOrder, const Combination&, cudaStream_t);
template Status load_combine_of<int32_t>();
}
