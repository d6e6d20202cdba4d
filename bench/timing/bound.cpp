#include <rondo/bench/timing/bound.h>
#include <rondo/bench/timing/peaks.h>
#include <rondo/kernels/core/text.h>

namespace rondo::bench {

Bound bound_of(const Work& work, Arithmetic arithmetic) {
  const double memory = work.bytes / peaks().copy_bytes_per_second;
  const double of_tensor_cores = work.flops > 0 ? tensor_flops_per_second(arithmetic) : 0;
  const double peak = of_tensor_cores > 0 ? of_tensor_cores : peaks().fma_flops_per_second;
  const double compute = work.flops / peak;
  if (compute <= memory) return {memory, "copy bandwidth"};
  return {compute, of_tensor_cores > 0 ? concat(name_of(arithmetic), " tensor-core peak") : "fp32 FMA peak"};
}

}  // namespace rondo::bench
