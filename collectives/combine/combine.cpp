#include <rondo/collectives/combine/combine.h>

namespace rondo {

template <class T>
Status combine_of(const char* operation, Reduction reduction, SumOrder order, const Combination& c,
                  cudaStream_t stream);  // combine.cuh, which only a CUDA compiler reads
template <class T>
Status load_combine_of();

Status combine(const char* operation, DType dtype, Reduction reduction, SumOrder order,
               const Combination& combination, cudaStream_t stream) {
  return visit(dtype, [&](auto element) {
    return combine_of<decltype(element)>(operation, reduction, order, combination, stream);
  });
}

Status load_combine_kernels() {
  for (const DType dtype : kDTypes)
    RONDO_RETURN_IF_ERROR(visit(dtype, [](auto element) { return load_combine_of<decltype(element)>(); }));
  return {};
}

DType accumulator_of(DType dtype, Reduction reduction) {
  if (reduction == Reduction::min || reduction == Reduction::max) return dtype;
  if (dtype == DType::bfloat16 || dtype == DType::float16) return DType::float32;
  if (reduction != Reduction::average) return dtype;
  if (dtype == DType::uint8) return DType::int32;
  if (dtype == DType::int32) return DType::int64;
  return dtype;
}

int64_t lead_of(const void* data, DType dtype) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % 16) / size_of(dtype);
}

}  // namespace rondo
