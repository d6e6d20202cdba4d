#include <rondo/kernels/gemm/gemm_arguments.h>

#include <cstdint>

namespace rondo {
namespace {

// From the first to the last element, padding of the last row left out.
int64_t span_bytes(int64_t rows, int64_t cols, int64_t stride) {
  return rows == 0 || cols == 0 ? 0 : ((rows - 1) * stride + cols) * static_cast<int64_t>(sizeof(float));
}

Status check_matrix(const char* name, const char* argument, MatrixView<const float> view) {
  RONDO_RETURN_IF_ERROR(check_view(name, argument, view));
  if (view.rows > 0 && view.cols > 0 && view.rows > INT64_MAX / 8 / view.stride)
    return bad_argument(name, ": ", argument, " is ", view.rows, " rows of stride ", view.stride,
                        ", more than an address space holds");
  return {};
}

}  // namespace

bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
  return a_bytes > 0 && b_bytes > 0 && first < second + static_cast<uintptr_t>(b_bytes) &&
         second < first + static_cast<uintptr_t>(a_bytes);
}

Status check_optional_workspace(const char* name, const Workspace& workspace,
                                std::initializer_list<NamedMemory> others) {
  if (workspace.bytes < 0)
    return bad_argument(name, ": workspace.bytes is ", workspace.bytes, ", must not be negative");
  if (workspace.bytes == 0) return {};
  if (workspace.data == nullptr)
    return bad_argument(name, ": workspace is null but has ", workspace.bytes, " bytes");
  if (reinterpret_cast<uintptr_t>(workspace.data) % 16 != 0)
    return bad_argument(name, ": workspace is at ", workspace.data, ", must be aligned to 16 bytes");
  for (const NamedMemory& other : others)
    if (overlap(workspace.data, workspace.bytes, other.data, other.bytes))
      return bad_argument(name, ": workspace overlaps ", other.name);
  return {};
}

Status check_gemm(const char* name, MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                  const GemmOptions& options, const Workspace& workspace, GemmArguments* arguments) {
  RONDO_RETURN_IF_ERROR(check_matrix(name, "a", a));
  RONDO_RETURN_IF_ERROR(check_matrix(name, "b", b));
  RONDO_RETURN_IF_ERROR(check_matrix(name, "c", c));

  const int64_t m = options.transpose_a ? a.cols : a.rows, k = options.transpose_a ? a.rows : a.cols;
  const int64_t n = options.transpose_b ? b.rows : b.cols, k_of_b = options.transpose_b ? b.cols : b.rows;
  if (k != k_of_b) return bad_argument(name, ": op(a) is ", m, " x ", k, " but op(b) is ", k_of_b, " x ", n);
  if (c.rows != m || c.cols != n)
    return bad_argument(name, ": c is ", c.rows, " x ", c.cols, ", must be ", m, " x ", n);

  if (options.bias.data != nullptr && options.bias.size != n)
    return bad_argument(name, ": bias has ", options.bias.size, " elements, must be n = ", n);
  if (options.bias.data == nullptr && options.bias.size != 0)
    return bad_argument(name, ": bias is null but has ", options.bias.size, " elements");
  RONDO_RETURN_IF_ERROR(check_pointer(name, "bias", options.bias.data, options.bias.size));

  const int64_t c_bytes = span_bytes(c.rows, c.cols, c.stride);
  const int64_t a_bytes = span_bytes(a.rows, a.cols, a.stride),
                b_bytes = span_bytes(b.rows, b.cols, b.stride);
  if (overlap(c.data, c_bytes, a.data, a_bytes)) return bad_argument(name, ": c overlaps a");
  if (overlap(c.data, c_bytes, b.data, b_bytes)) return bad_argument(name, ": c overlaps b");
  if (overlap(c.data, c_bytes, options.bias.data, 4 * options.bias.size))
    return bad_argument(name, ": c overlaps bias");

  RONDO_RETURN_IF_ERROR(check_optional_workspace(name, workspace,
                                                 {{"a", a.data, a_bytes},
                                                  {"b", b.data, b_bytes},
                                                  {"c", c.data, c_bytes},
                                                  {"bias", options.bias.data, 4 * options.bias.size}}));

  *arguments = {m,
                n,
                k,
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
