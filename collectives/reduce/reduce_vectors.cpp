#include <rondo/collectives/reduce/reduce_vectors.h>

namespace rondo {

template <class T>
Status reduce_of(const char* operation, Reduction reduction, SumOrder order, const ReduceArguments& c,
                 cudaStream_t stream);  // in reduce_vectors.cuh, which only a CUDA compiler can read
template <class T>
Status load_reduce_of();

Status reduce_vectors(const char* operation, DType dtype, Reduction reduction, SumOrder order,
                      const ReduceArguments& arguments, cudaStream_t stream) {
  return visit(dtype, [&](auto element) {
    return reduce_of<decltype(element)>(operation, reduction, order, arguments, stream);
  });
}

Status load_reduce_kernels() {
  for (const DType dtype : kDTypes)
    RONDO_RETURN_IF_ERROR(visit(dtype, [](auto element) { return load_reduce_of<decltype(element)>(); }));
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
