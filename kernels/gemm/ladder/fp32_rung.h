// The checks of the rungs that have neither tensor cores nor a workspace.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>

namespace rondo {

inline Status check_fp32_rung(const char* name, MatrixView<float> c, MatrixView<const float> a,
                              MatrixView<const float> b, const GemmOptions& options,
                              const Workspace& workspace, GemmArguments* arguments) {
  if (options.math != Math::fp32)
    return bad_argument(name, ": math is ", name_of(options.math), ", this rung has only fp32");
  return check_gemm(name, nullptr, c, a, b, options, workspace, arguments);
}

}  // namespace rondo
