#include <rondo/kernels/gemm/gemm_arguments.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/gemm/gemm_types.h>

#include <type_traits>
#include <utility>

namespace rondo {

namespace {

// The residual as a view like c, of elements of its type.
template <class C>
MatrixPointersView<const C> residual_as(const GemmResidual& r, const MatrixPointersView<C>&) {
  return {static_cast<const C* const*>(r.data), r.batches, r.rows, r.cols, r.stride};
}
template <class C>
MatrixView<const C> residual_as(const GemmResidual& r, const MatrixView<C>&) {
  return {static_cast<const C*>(r.data), r.rows, r.cols, r.stride};
}
template <class C>
MatrixBatchView<const C> residual_as(const GemmResidual& r, const MatrixBatchView<C>&) {
  return {static_cast<const C*>(r.data), r.batches, r.rows, r.cols, r.stride, r.batch_stride};
}

template <class C, template <class> class View>
void check_residual(ArgumentCheck* check, const GemmOptions& options, const View<C>& c) {
  const GemmResidual& r = options.residual;
  if (r.data == nullptr && (r.rows == 0 || r.cols == 0 || r.batches == 0)) return;
  check->require(r.type == dtype_of<C>, "residual is ", name_of(r.type), ", must be ", name_of(dtype_of<C>),
                 " like c");
  check->require(options.beta == 0, "beta is ", options.beta, ", must be 0 with a residual");
  constexpr bool by_pointers = std::is_same_v<View<C>, MatrixPointersView<C>>;
  const auto kind = [](bool pointers) { return pointers ? "pointers" : "matrices"; };
  check->require(r.by_pointers == by_pointers, "residual is a view of ", kind(r.by_pointers),
                 ", must be one of ", kind(by_pointers), " like c");
  const View<const C> view = residual_as(r, c);
  check->input("residual", view);
  if constexpr (by_pointers) {
    const MatrixBatchView<const C> shape = {nullptr, r.batches, r.rows, r.cols};
    check->same_shape("residual", shape, "c", MatrixBatchView<C>{nullptr, c.batches, c.rows, c.cols});
  } else {
    check->same_shape("residual", view, "c", c);
  }
  check->require(r.rows <= 1 || r.stride == c.stride, "residual.stride is ", r.stride,
                 ", must be c.stride = ", c.stride);
  if constexpr (!requires { c.batches; })
    check->require(r.batches == 1, "residual has ", counted(r.batches, "matrix", "matrices"),
                   ", must be one");
  else if constexpr (!by_pointers)
    check->require(c.batches <= 1 || r.batch_stride == c.batch_stride, "residual.batch_stride is ",
                   r.batch_stride, ", must be c.batch_stride = ", c.batch_stride);
}

// What the checks of one product and of a batch have in common. View<T>: a view of a matrix, or of a batch.
// Does not set the operands of `arguments`.
template <class T, class C, template <class> class View>
Status check_views(const char* name, GemmWorkspaceBytes* needed, const View<C>& c, const View<const T>& a,
                   const View<const T>& b, const GemmOptions& options, const Workspace& workspace,
                   ArgumentCheck check, GemmArgumentsOf<T, C>* arguments) {
  const int64_t m = options.transpose_a ? a.cols : a.rows, k = options.transpose_a ? a.rows : a.cols;
  const int64_t n = options.transpose_b ? b.rows : b.cols, k_of_b = options.transpose_b ? b.cols : b.rows;
  check.input("a", a);
  check.input("b", b);
  check.output("c", c, {"residual"});
  check.optional_input("bias", options.bias);
  check.require(k == k_of_b, "op(a) is ", m, " x ", k, " and op(b) is ", k_of_b, " x ", n,
                ": op(a) must have as many columns as op(b) has rows");
  check.require(c.rows == m && c.cols == n, "c is ", c.rows, " x ", c.cols, ", must be ", m, " x ", n,
                ", the rows of op(a) and the columns of op(b)");
  check_residual<C, View>(&check, options, c);
  check.enumerator("activation", options.activation, Activation::sigmoid);
  if (options.bias.data != nullptr)
    check.require(options.bias.size == n, "bias has ", counted(options.bias.size, "element"),
                  ", must be n = ", n);
  check.require(std::is_same_v<T, float> || options.math == Math::fp32, "math is ", name_of(options.math),
                ", which is for float matrices; a and b are ", name_of(dtype_of<T>));
  // As in BLAS, A and B are not read if alpha is 0. This is the same as k = 0.
  const int64_t summands = options.alpha == 0 ? 0 : k;
  check.workspace(workspace, needed ? needed({m, n, summands}, options, dtype_of<T>) : 0);
  RONDO_RETURN_IF_ERROR(check.status());
  RONDO_RETURN_IF_ERROR(check_math(name, options.math));
  RONDO_RETURN_IF_ERROR(check_factor_type(name, dtype_of<T>));

  GemmArgumentsOf<T, C>& g = *arguments;
  g.m = m, g.n = n, g.k = summands;
  g.a_stride = a.stride, g.b_stride = b.stride, g.c_stride = c.stride;
  g.transpose_a = options.transpose_a, g.transpose_b = options.transpose_b;
  g.alpha = options.alpha, g.beta = options.beta, g.bias = options.bias.data;
  g.activation = options.activation;
  g.arithmetic = arithmetic_of(dtype_of<T>, options.math);
  g.batches = {};
  return {};
}

// Sets the operands, which are not pointers.
template <class T, class C, template <class> class View>
void set_operands(const View<C>& c, const View<const T>& a, const View<const T>& b,
                  const GemmResidual& residual, GemmArgumentsOf<T, C>* g) {
  g->a = a.data, g->b = b.data, g->c = c.data;
  g->residual = static_cast<const C*>(residual.data);
}

template <class View>
void check_batches(ArgumentCheck* check, int64_t a, int64_t b, const View& c) {
  for (const auto& [operand, batches] : {std::pair("a", a), std::pair("b", b)})
    check->require(batches == c.batches, operand, " has ", counted(batches, "matrix", "matrices"),
                   ", must have as many as c, ", c.batches);
}

}  // namespace

template <class T, class C>
Status check_gemm(const char* name, GemmWorkspaceBytes* needed, MatrixView<C> c, MatrixView<const T> a,
                  MatrixView<const T> b, const GemmOptions& options, const Workspace& workspace,
                  GemmArgumentsOf<T, C>* arguments) {
  RONDO_RETURN_IF_ERROR((check_views<T, C, MatrixView>(name, needed, c, a, b, options, workspace,
                                                       ArgumentCheck(name), arguments)));
  set_operands<T, C, MatrixView>(c, a, b, options.residual, arguments);
  return {};
}

template <class T, class C>
Status check_gemm(const char* name, MatrixBatchView<C> c, MatrixBatchView<const T> a,
                  MatrixBatchView<const T> b, const GemmOptions& options, GemmArgumentsOf<T, C>* arguments) {
  ArgumentCheck check(name);
  check_batches(&check, a.batches, b.batches, c);
  RONDO_RETURN_IF_ERROR(
      (check_views<T, C, MatrixBatchView>(name, nullptr, c, a, b, options, {}, std::move(check), arguments)));
  set_operands<T, C, MatrixBatchView>(c, a, b, options.residual, arguments);
  arguments->batches = {c.batches, {a.batch_stride}, {b.batch_stride}, {c.batch_stride}};
  return {};
}

template <class T, class C>
Status check_gemm(const char* name, MatrixPointersView<C> c, MatrixPointersView<const T> a,
                  MatrixPointersView<const T> b, const GemmOptions& options,
                  GemmArgumentsOf<T, C>* arguments) {
  ArgumentCheck check(name);
  check_batches(&check, a.batches, b.batches, c);
  RONDO_RETURN_IF_ERROR((check_views<T, C, MatrixPointersView>(name, nullptr, c, a, b, options, {},
                                                               std::move(check), arguments)));
  GemmArgumentsOf<T, C>& g = *arguments;
  g.a = nullptr, g.b = nullptr, g.c = nullptr, g.residual = nullptr;
  g.batches = {c.batches, {}, {}, {0, c.data}, options.residual.data};
  // Without summands the pointers of A and B may be anything.
  if (g.k > 0) g.batches.a.pointers = a.data, g.batches.b.pointers = b.data;
  return {};
}

#define RONDO_CHECK_GEMM(T, C)                                                                      \
  template Status check_gemm(const char*, GemmWorkspaceBytes*, MatrixView<C>, MatrixView<const T>,  \
                             MatrixView<const T>, const GemmOptions&, const Workspace&,             \
                             GemmArgumentsOf<T, C>*);                                               \
  template Status check_gemm(const char*, MatrixBatchView<C>, MatrixBatchView<const T>,             \
                             MatrixBatchView<const T>, const GemmOptions&, GemmArgumentsOf<T, C>*); \
  template Status check_gemm(const char*, MatrixPointersView<C>, MatrixPointersView<const T>,       \
                             MatrixPointersView<const T>, const GemmOptions&, GemmArgumentsOf<T, C>*);
RONDO_FOR_GEMM_TYPES(RONDO_CHECK_GEMM)
#undef RONDO_CHECK_GEMM

}  // namespace rondo
