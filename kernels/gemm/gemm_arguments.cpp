#include <rondo/kernels/gemm/gemm_arguments.h>

namespace rondo {

Status check_gemm(const char* name, SplitsK splits_k, MatrixView<float> c, MatrixView<const float> a,
                  MatrixView<const float> b, const GemmOptions& options, const Workspace& workspace,
                  GemmArguments* arguments) {
  const int64_t m = options.transpose_a ? a.cols : a.rows, k = options.transpose_a ? a.rows : a.cols;
  const int64_t n = options.transpose_b ? b.rows : b.cols, k_of_b = options.transpose_b ? b.cols : b.rows;
  ArgumentCheck check(name);
  check.input("a", a);
  check.input("b", b);
  check.output("c", c);
  check.optional_input("bias", options.bias);
  check.require(k == k_of_b, "op(a) is ", m, " x ", k, " but op(b) is ", k_of_b, " x ", n);
  check.require(c.rows == m && c.cols == n, "c is ", c.rows, " x ", c.cols, ", must be ", m, " x ", n);
  if (options.bias.data != nullptr)
    check.require(options.bias.size == n, "bias has ", options.bias.size, " elements, must be n = ", n);
  // As in BLAS, A and B are not read if alpha is 0. This is the same as k = 0.
  const int64_t summands = options.alpha == 0 ? 0 : k;
  check.workspace(workspace, splits_k == SplitsK::yes ? gemm_workspace_bytes({m, n, summands}) : 0);
  RONDO_RETURN_IF_ERROR(check.status());

  *arguments = {m,
                n,
                summands,
                a.data,
                b.data,
                c.data,
                a.stride,
                b.stride,
                c.stride,
                options.transpose_a,
                options.transpose_b,
                options.alpha,
                options.beta,
                options.bias.data,
                options.relu};
  return {};
}

}  // namespace rondo
