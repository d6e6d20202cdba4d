#include <rondo/kernels/gemm/gemm.h>

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/gemm_types.h>
#include <rondo/kernels/gemm/gemm_with_plan.h>

namespace rondo {

int64_t gemm_workspace_bytes(const GemmShape& shape, const GemmOptions& options, DType type) {
  return workspace_bytes(shape, options.transpose_a ? Order::mn_major : Order::k_major,
                         options.transpose_b ? Order::k_major : Order::mn_major,
                         arithmetic_of(type, options.math));
}

template <class T, class C>
Status checked_gemm(MatrixView<C> c, MatrixView<const T> a, MatrixView<const T> b, const GemmOptions& options,
                    Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm";
  GemmArgumentsOf<T, C> arguments;
  RONDO_RETURN_IF_ERROR(check_gemm(kName, gemm_workspace_bytes, c, a, b, options, workspace, &arguments));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  return gemm_with_plan(kName, choose_gemm_plan(problem_of(arguments), device), arguments, workspace, stream);
}

namespace {

// View<T>: of a batch of matrices, at equal distances or by pointers.
template <class T, class C, template <class> class View>
Status checked_batched_gemm(const char* name, const View<C>& c, const View<const T>& a,
                            const View<const T>& b, const GemmOptions& options, cudaStream_t stream) {
  GemmArgumentsOf<T, C> arguments;
  RONDO_RETURN_IF_ERROR(check_gemm(name, c, a, b, options, &arguments));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const GemmPlan plan = choose_batched_gemm_plan(problem_of(arguments), c.batches, device);
  return gemm_with_plan(name, plan, arguments, {}, stream);
}

}  // namespace

template <class T, class C>
Status checked_gemm(MatrixBatchView<C> c, MatrixBatchView<const T> a, MatrixBatchView<const T> b,
                    const GemmOptions& options, cudaStream_t stream) {
  return checked_batched_gemm<T, C, MatrixBatchView>("gemm_strided_batched", c, a, b, options, stream);
}

template <class T, class C>
Status checked_gemm(MatrixPointersView<C> c, MatrixPointersView<const T> a, MatrixPointersView<const T> b,
                    const GemmOptions& options, cudaStream_t stream) {
  return checked_batched_gemm<T, C, MatrixPointersView>("gemm_batched", c, a, b, options, stream);
}

#define RONDO_GEMM(T, C)                                                                                     \
  template Status checked_gemm<T, C>(MatrixView<C>, MatrixView<const T>, MatrixView<const T>,                \
                                     const GemmOptions&, Workspace, cudaStream_t);                           \
  template Status checked_gemm<T, C>(MatrixBatchView<C>, MatrixBatchView<const T>, MatrixBatchView<const T>, \
                                     const GemmOptions&, cudaStream_t);                                      \
  template Status checked_gemm<T, C>(MatrixPointersView<C>, MatrixPointersView<const T>,                     \
                                     MatrixPointersView<const T>, const GemmOptions&, cudaStream_t);
RONDO_FOR_GEMM_TYPES(RONDO_GEMM)
#undef RONDO_GEMM

}  // namespace rondo
