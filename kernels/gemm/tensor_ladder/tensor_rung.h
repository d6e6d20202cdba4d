// The checks of the rungs of the ladder of tensor cores, and their instances.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

#include <type_traits>

namespace rondo {

// The checks of gemm(), for a rung without split-K. Float matrices must have Math::tf32. `needed`: the
// workspace; null for none.
template <class T>
Status check_rung(const char* name, MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                  const GemmOptions& options, const Workspace& workspace, GemmArgumentsOf<T>* arguments,
                  GemmWorkspaceBytes* needed = nullptr) {
  if (std::is_same_v<T, float>) {
    RONDO_RETURN_IF_ERROR(check_math(name, options.math));
    if (options.math != Math::tf32)
      return bad_argument(name, ": math is ", name_of(options.math), ", this rung has only tf32");
  }
  return check_gemm(name, needed, c, a, b, options, workspace, arguments);
}

// Defines the three instances of a rung.
#define RONDO_INSTANTIATE_RUNG(name)                                                                  \
  template Status name(MatrixView<float>, MatrixView<const float>, MatrixView<const float>,           \
                       const GemmOptions&, Workspace, cudaStream_t);                                  \
  template Status name(MatrixView<__nv_bfloat16>, MatrixView<const __nv_bfloat16>,                    \
                       MatrixView<const __nv_bfloat16>, const GemmOptions&, Workspace, cudaStream_t); \
  template Status name(MatrixView<__half>, MatrixView<const __half>, MatrixView<const __half>,        \
                       const GemmOptions&, Workspace, cudaStream_t);

}  // namespace rondo
