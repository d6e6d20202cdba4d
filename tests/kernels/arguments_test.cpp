// Calls every public operation with each argument made invalid in several ways. The call must be refused, its
// message must begin with the name of the operation, and no memory may change. The list of operations is read
// from the headers, so that no operation is missed.
// Above 400 lines because there is one entry for each operation.

#include <gtest/gtest.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/data/columns.h>
#include <rondo/kernels/data/fill.h>
#include <rondo/kernels/elementwise/binary.h>
#include <rondo/kernels/elementwise/unary.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/layout/transpose.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/nonfinite_loss.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/layer_norm.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/max_unpool.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/count_differences.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/kernels/reduce/reduce.h>
#include <rondo/kernels/softmax/softmax.h>
#include <rondo/tests/kernels/declared_operations.h>
#include <rondo/tests/kernels/spoilt_arguments.h>
#include <rondo/tests/support/status_checks.h>

#include <functional>
#include <regex>
#include <set>

namespace rondo::test {
namespace {

// `name`: the function's name; after a slash, the optional arguments that the call passes.
struct Operation {
  std::string name;
  std::function<Status(Arguments&, cudaStream_t)> call;

  std::string function() const { return name.substr(0, name.find('/')); }
};
std::ostream& operator<<(std::ostream& out, const Operation& operation) { return out << operation.name; }

std::vector<Operation> gemms() {
  std::vector<Operation> all;
  for (const GemmVariant& variant : gemm_variants()) {
    all.push_back(
        {function_of(variant), [variant](Arguments& a, cudaStream_t stream) {
           const int64_t m = a.size("m", 5), n = a.size("n", 6), k = a.size("k", 600);
           const auto va = a.input("a", MatrixView<const float>{nullptr, m, k, a.size("a.stride", 602, 600)});
           const auto vb = a.input("b", MatrixView<const float>{nullptr, k, n, a.size("b.stride", 7, 6)});
           const int64_t c_stride = a.size("c.stride", 8, 6);
           const auto vc = a.output("c", MatrixView<float>{nullptr, m, n, c_stride}, {"residual"});
           const auto residual = a.input("residual", MatrixView<const float>{nullptr, m, n, c_stride});
           const GemmOptions options = {.bias = a.input("bias", VectorView<const float>{nullptr, n}),
                                        .residual = residual};
           const bool splits_k =
               function_of(variant) == "gemm" || function_of(variant) == "gemm_06_pipelined";
           const int64_t bytes = splits_k ? gemm_workspace_bytes({m, n, k}) : 0;
           return variant.run(vc, va, vb, options, a.workspace(bytes), stream);
         }});
  }
  return all;
}

template <class T>
void add_batches(std::vector<Operation>& all) {
  if (!check_factor_type("", dtype_of<T>).ok()) return;
  all.push_back(
      {concat("gemm_strided_batched/", name_of(dtype_of<T>)), [](Arguments& a, cudaStream_t stream) {
         const int64_t batches = a.size("batches", 3), m = a.size("m", 5), n = a.size("n", 6),
                       k = a.size("k", 30);
         const auto view = [&]<class E>(const char* name, int64_t rows, int64_t cols, E*) {
           const int64_t stride = a.size(concat(name, ".stride").c_str(), cols + 2, cols);
           const int64_t distance = a.size(concat(name, ".batch_stride").c_str(), rows * (cols + 2),
                                           std::is_const_v<E> ? 0 : rows * (cols + 2) - 2);
           return MatrixBatchView<E>{nullptr, batches, rows, cols, stride, distance};
         };
         const T* const factor = nullptr;
         T* const result = nullptr;
         const auto va = a.input("a", view("a", m, k, factor));
         const auto vb = a.input("b", view("b", k, n, factor));
         auto vc = view("c", m, n, result);
         const auto residual = a.input(
             "residual", MatrixBatchView<const T>{nullptr, batches, m, n, vc.stride, vc.batch_stride});
         vc = a.output("c", vc, {"residual"});
         return gemm_strided_batched(
             vc, va, vb, {.bias = a.input("bias", VectorView<const float>{nullptr, n}), .residual = residual},
             stream);
       }});
}

// Operands are the arrays of pointers. The matrices behind them are not known to the host.
template <class T>
void add_batches_by_pointers(std::vector<Operation>& all) {
  if (!check_factor_type("", dtype_of<T>).ok()) return;
  all.push_back(
      {concat("gemm_batched/", name_of(dtype_of<T>)), [](Arguments& a, cudaStream_t stream) {
         const int64_t batches = a.size("batches", 3), m = a.size("m", 5), n = a.size("n", 6),
                       k = a.size("k", 30);
         const auto matrices = [&]<class E>(const char* name, int64_t rows, int64_t cols, int64_t stride,
                                            E*) {
           return a.pointers(name, MatrixPointersView<E>{nullptr, batches, rows, cols, stride}, 4096);
         };
         const T* const factor = nullptr;
         T* const result = nullptr;
         const int64_t c_stride = a.size("c.stride", 8, 6);
         const auto va = matrices("a", m, k, a.size("a.stride", 32, 30), factor);
         const auto vb = matrices("b", k, n, a.size("b.stride", 8, 6), factor);
         const auto residual = matrices("residual", m, n, c_stride, factor);
         const auto vc = matrices("c", m, n, c_stride, result);
         return gemm_batched(
             vc, va, vb, {.bias = a.input("bias", VectorView<const float>{nullptr, n}), .residual = residual},
             stream);
       }});
}

std::vector<Operation> batched_gemms() {
  std::vector<Operation> all;
  add_batches<float>(all);
  add_batches<__nv_bfloat16>(all);
  add_batches<__half>(all);
  add_batches_by_pointers<float>(all);
  add_batches_by_pointers<__nv_bfloat16>(all);
  add_batches_by_pointers<__half>(all);
  return all;
}

template <class T>
void add_tensor_products(std::vector<Operation>& all) {
  for (const TensorProduct<T>& product : tensor_products<T>()) {
    all.push_back(
        {concat(product.name, "/", name_of(dtype_of<T>)), [product](Arguments& a, cudaStream_t stream) {
           const int64_t m = a.size("m", 5), n = a.size("n", 6), k = a.size("k", 600);
           // wgmma takes rows that begin at multiples of 16 bytes, and tf32 only along k.
           const bool wgmma = product.uses_wgmma, transpose_b = wgmma && std::is_same_v<T, float>;
           const int64_t a_stride = a.size("a.stride", wgmma ? 608 : 602, 600);
           const auto va = a.input("a", MatrixView<const T>{nullptr, m, k, a_stride});
           const int64_t b_stride =
               transpose_b ? a.size("b.stride", 608, 600) : a.size("b.stride", wgmma ? 8 : 7, 6);
           const auto vb =
               a.input("b", MatrixView<const T>{nullptr, transpose_b ? n : k, transpose_b ? k : n, b_stride});
           const auto vc = a.output("c", MatrixView<T>{nullptr, m, n, a.size("c.stride", 8, 6)});
           const GemmOptions options = {.transpose_b = transpose_b,
                                        .bias = a.input("bias", VectorView<const float>{nullptr, n}),
                                        .math = product.math};
           const bool splits_k = product.name == "gemm" || product.name == "gemm_tc_04_pipelined";
           const int64_t bytes = splits_k ? gemm_workspace_bytes({m, n, k})
                                 : product.name == "gemm_tc_09_stream_k"
                                     ? gemm_tc_09_workspace_bytes({m, n, k})
                                     : 0;
           return product.run(vc, va, vb, options, a.workspace(bytes), stream);
         }});
  }
}
std::vector<Operation> tensor_gemms() {
  std::vector<Operation> all;
  add_tensor_products<float>(all);
  add_tensor_products<__nv_bfloat16>(all);
  add_tensor_products<__half>(all);
  return all;
}

// A kind of convolution: its path, and the number of images.
struct ConvKind {
  int64_t channels;
  Math math = Math::fp32;
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
  int64_t images = 2;
  int64_t groups = 1;

  std::string suffix() const {
    return concat("/", channels, "_channels", groups > 1 ? concat("_", groups, "_groups") : "",
                  math == Math::fp32 ? "" : concat("_", name_of(math)));
  }
};

template <class T>
struct ConvArguments {
  ConvArguments(Arguments& a, const ConvKind& kind)
      : n(a.size("images", kind.images)),
        h(a.size("height", 6)),
        w(a.size("width", 5)),
        c(a.size("in_channels", kind.channels)),
        k(a.size("out_channels", 16)) {
    options = {.stride_h = a.size("stride_h", 1, 1),
               .stride_w = a.size("stride_w", 1, 1),
               .pad_h = a.size("pad_h", 1),
               .pad_w = a.size("pad_w", 1),
               .algorithm = a.enumerator("algorithm", kind.algorithm),
               .math = a.enumerator("math", kind.math),
               .dilation_h = a.size("dilation_h", 1, 1),
               .dilation_w = a.size("dilation_w", 1, 1)};
    options.groups = kind.groups;
    options.pad_bottom = a.size("pad_bottom", 1);
    options.pad_right = a.size("pad_right", 1);
  }
  template <class U>
  ImageView<U> x() const {
    return {nullptr, n, h, w, c};
  }
  template <class U>
  ImageView<U> y() const {
    const auto [p, q] = conv2d_output_sides(h, w, 3, 3, options);
    return {nullptr, n, p, q, k};
  }
  template <class U>
  FilterView<U> filter() const {
    return {nullptr, k, 3, 3, c / options.groups};
  }
  Conv2dWorkspaceBytes bytes() const {
    return conv2d_workspace_bytes(x<const float>(), filter<const float>(), options, dtype_of<T>);
  }

  int64_t n, h, w, c, k;
  Conv2dOptions options;
};

int64_t twice(int64_t size) { return size < 0 || size > INT64_MAX / 2 ? size : 2 * size; }

template <class T>
std::vector<Operation> convolutions_of(const ConvKind& kind) {
  // So many pixels that the sums need a workspace.
  ConvKind with_sums = kind;
  with_sums.images = 20;
  const auto name = [&](const char* operation) {
    return concat(operation, kind.suffix(),
                  dtype_of<T> == DType::float32 ? "" : concat("_", name_of(dtype_of<T>)));
  };
  return {{name("conv2d_forward"),
           [kind](Arguments& a, cudaStream_t stream) {
             const ConvArguments<T> conv(a, kind);
             const auto y = a.output("y", conv.template y<T>());
             const auto x = a.input("x", conv.template x<const T>());
             const auto filter = a.input("filter", conv.template filter<const T>());
             Conv2dEpilogueOf<T> epilogue;
             epilogue.bias = a.input("bias", VectorView<const float>{nullptr, conv.k});
             epilogue.relu = true;
             return conv2d_forward(y, x, filter, conv.options, epilogue, a.workspace(conv.bytes().forward),
                                   stream);
           }},
          {name("conv2d_forward") + "_residual_sums",
           [kind = with_sums](Arguments& a, cudaStream_t stream) {
             const ConvArguments<T> conv(a, kind);
             const auto y = a.output("y", conv.template y<T>(), {"residual"});
             const auto x = a.input("x", conv.template x<const T>());
             const auto filter = a.input("filter", conv.template filter<const T>());
             Conv2dEpilogueOf<T> epilogue;
             epilogue.residual = a.input("residual", conv.template y<const T>());
             epilogue.sums = a.output("sums", VectorView<double>{nullptr, twice(conv.k)});
             return conv2d_forward(y, x, filter, conv.options, epilogue,
                                   a.workspace(conv.bytes().forward_sums), stream);
           }},
          {name("conv2d_data_gradient"),
           [kind](Arguments& a, cudaStream_t stream) {
             const ConvArguments<T> conv(a, kind);
             const auto dx = a.output("dx", conv.template x<T>());
             const auto dy = a.input("dy", conv.template y<const T>());
             const auto filter = a.input("filter", conv.template filter<const T>());
             return conv2d_data_gradient(dx, dy, filter, conv.options, {},
                                         a.workspace(conv.bytes().data_gradient), stream);
           }},
          {name("conv2d_filter_gradient"),
           [kind](Arguments& a, cudaStream_t stream) {
             const ConvArguments<T> conv(a, kind);
             const auto dw = a.output("dw", conv.template filter<float>());
             const auto dy = a.input("dy", conv.template y<const T>());
             const auto x = a.input("x", conv.template x<const T>());
             return conv2d_filter_gradient(dw, dy, x, conv.options, {},
                                           a.workspace(conv.bytes().filter_gradient), stream);
           }},
          {name("conv2d_filter_gradient") + "_bias_gradient",
           [kind = with_sums](Arguments& a, cudaStream_t stream) {
             const ConvArguments<T> conv(a, kind);
             const auto dw = a.output("dw", conv.template filter<float>());
             const auto dy = a.input("dy", conv.template y<const T>());
             const auto x = a.input("x", conv.template x<const T>());
             Conv2dFilterGradientEpilogue epilogue;
             epilogue.bias_gradient = a.output("bias_gradient", VectorView<float>{nullptr, conv.k});
             return conv2d_filter_gradient(dw, dy, x, conv.options, epilogue,
                                           a.workspace(conv.bytes().filter_gradient_bias), stream);
           }},
          {name("conv_transpose2d"), [kind](Arguments& a, cudaStream_t stream) {
             const ConvArguments<T> conv(a, kind);
             const auto y = a.output("y", conv.template x<T>());
             const auto x = a.input("x", conv.template y<const T>());
             const auto filter = a.input("filter", conv.template filter<const T>());
             ConvTranspose2dEpilogue epilogue;
             epilogue.bias = a.input("bias", VectorView<const float>{nullptr, conv.c});
             return conv_transpose2d(y, x, filter, conv.options, epilogue,
                                     a.workspace(conv.bytes().data_gradient), stream);
           }}};
}

// The paths for few channels, for groups, for implicit GEMMs, for Winograd's algorithm and for tensor cores.
std::vector<Operation> convolutions() {
  std::vector<Operation> all;
  const auto add = [&](const std::vector<Operation>& some) {
    all.insert(all.end(), some.begin(), some.end());
  };
  add(convolutions_of<float>({1}));
  add(convolutions_of<float>({6}));
  add(convolutions_of<float>({.channels = 16, .groups = 16}));
  add(convolutions_of<float>({16, Math::fp32, ConvAlgorithm::winograd}));
  if (check_math("", Math::tf32).ok()) add(convolutions_of<float>({16, Math::tf32}));
  if (check_factor_type("", DType::bfloat16).ok()) add(convolutions_of<__nv_bfloat16>({16}));
  if (check_factor_type("", DType::float16).ok()) add(convolutions_of<__half>({16}));
  return all;
}

struct PoolArguments {
  explicit PoolArguments(Arguments& a)
      : n(a.size("images", 2)),
        h(a.size("height", 6)),
        w(a.size("width", 7)),
        c(a.size("channels", 3)),
        window{a.size("window.height", 2, 1), a.size("window.width", 3, 1), a.size("stride_h", 2, 1),
               a.size("stride_w", 2, 1),      a.size("pad_h", 1),           a.size("pad_w", 1),
               a.size("pad_bottom", 0),       a.size("pad_right", 1),       false,
               a.size("dilation_h", 1, 1),    a.size("dilation_w", 1, 1)} {}
  template <class T>
  ImageView<T> x() const {
    return {nullptr, n, h, w, c};
  }
  template <class T>
  ImageView<T> y() const {
    return {nullptr, n, pooled_height(h, window), pooled_width(w, window), c};
  }

  int64_t n, h, w, c;
  PoolWindow window;
};

// The name of an operation on elements of type T: "relu", "relu/float16".
template <class T>
std::string typed(const char* operation) {
  return std::is_same_v<T, float> ? operation : concat(operation, "/", name_of(dtype_of<T>));
}

template <class T>
std::vector<Operation> pools() {
  const auto over = [](Arguments& a) { return a.enumerator("over", AverageOver::image); };
  return {{typed<T>("avg_pool"),
           [over](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto y = a.output("y", pool.y<T>());
             return avg_pool(y, a.input("x", pool.x<const T>()), pool.window, over(a), stream);
           }},
          {typed<T>("avg_pool_backward"),
           [over](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto dx = a.output("dx", pool.x<T>());
             return avg_pool_backward(dx, a.input("dy", pool.y<const T>()), pool.window, over(a), stream);
           }},
          {typed<T>("avg_pool_relu_backward"),
           [over](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto dz = a.output("dz", pool.x<T>());
             const auto dy = a.input("dy", pool.y<const T>());
             return avg_pool_relu_backward(dz, dy, a.input("x", pool.x<const T>()), pool.window, over(a),
                                           stream);
           }},
          {typed<T>("max_pool"),
           [](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto y = a.output("y", pool.y<T>());
             return max_pool(y, a.input("x", pool.x<const T>()), pool.window, stream);
           }},
          {typed<T>("max_pool_backward"), [](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto dx = a.output("dx", pool.x<T>());
             const auto dy = a.input("dy", pool.y<const T>());
             const auto y = a.input("y", pool.y<const T>());
             return max_pool_backward(dx, dy, y, a.input("x", pool.x<const T>()), pool.window, stream);
           }}};
}

template <class T>
std::vector<Operation> indexed_pools() {
  return {{typed<T>("max_pool_with_indices"),
           [](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto y = a.output("y", pool.y<T>());
             const auto indices = a.output("indices", pool.y<int32_t>());
             return max_pool_with_indices(y, indices, a.input("x", pool.x<const T>()), pool.window, stream);
           }},
          {typed<T>("max_pool_with_indices_backward"),
           [](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto dx = a.output("dx", pool.x<T>());
             const auto dy = a.input("dy", pool.y<const T>());
             const auto indices = a.input("indices", pool.y<const int32_t>());
             return max_pool_with_indices_backward(dx, dy, indices, pool.window, stream);
           }},
          {typed<T>("max_unpool"),
           [](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto y = a.output("y", pool.x<T>());
             const auto x = a.input("x", pool.y<const T>());
             return max_unpool(y, x, a.input("indices", pool.y<const int32_t>()), pool.window, stream);
           }},
          {typed<T>("max_unpool_backward"), [](Arguments& a, cudaStream_t stream) {
             const PoolArguments pool(a);
             const auto dx = a.output("dx", pool.y<T>());
             const auto dy = a.input("dy", pool.x<const T>());
             return max_unpool_backward(dx, dy, a.input("indices", pool.y<const int32_t>()), pool.window,
                                        stream);
           }}};
}

struct AdaptiveArguments {
  explicit AdaptiveArguments(Arguments& a)
      : n(a.size("images", 2)),
        h(a.size("height", 6, 1)),
        w(a.size("width", 7, 1)),
        c(a.size("channels", 3)),
        p(a.size("rows", 4, 1)),
        q(a.size("cols", 9, 1)) {}
  template <class T>
  ImageView<T> x() const {
    return {nullptr, n, h, w, c};
  }
  template <class T>
  ImageView<T> y() const {
    return {nullptr, n, p, q, c};
  }

  int64_t n, h, w, c, p, q;
};

template <class T>
std::vector<Operation> adaptive_pools() {
  return {{typed<T>("adaptive_avg_pool"),
           [](Arguments& a, cudaStream_t stream) {
             const AdaptiveArguments pool(a);
             const auto y = a.output("y", pool.y<T>());
             return adaptive_avg_pool(y, a.input("x", pool.x<const T>()), stream);
           }},
          {typed<T>("adaptive_avg_pool_backward"),
           [](Arguments& a, cudaStream_t stream) {
             const AdaptiveArguments pool(a);
             const auto dx = a.output("dx", pool.x<T>());
             return adaptive_avg_pool_backward(dx, a.input("dy", pool.y<const T>()), stream);
           }},
          {typed<T>("adaptive_max_pool"),
           [](Arguments& a, cudaStream_t stream) {
             const AdaptiveArguments pool(a);
             const auto y = a.output("y", pool.y<T>());
             const auto indices = a.output("indices", pool.y<int32_t>());
             return adaptive_max_pool(y, indices, a.input("x", pool.x<const T>()), stream);
           }},
          {typed<T>("adaptive_max_pool_backward"), [](Arguments& a, cudaStream_t stream) {
             const AdaptiveArguments pool(a);
             const auto dx = a.output("dx", pool.x<T>());
             const auto dy = a.input("dy", pool.y<const T>());
             return adaptive_max_pool_backward(dx, dy, a.input("indices", pool.y<const int32_t>()), stream);
           }}};
}

template <class T>
BatchNormSavedOf<T> saved_of(Arguments& a, int64_t rows, int64_t channels) {
  const auto matrix = MatrixView<const T>{nullptr, rows, channels};
  const auto vector = VectorView<const float>{nullptr, channels};
  BatchNormSavedOf<T> saved;
  saved.x = a.input("saved.x", matrix);
  saved.mean = a.input("saved.mean", vector);
  saved.inv_std = a.input("saved.inv_std", vector);
  saved.y = a.input("saved.y", matrix);
  return saved;
}

std::vector<Operation> norm_statistics() {
  return {{"batch_norm_statistics",
           [](Arguments& a, cudaStream_t stream) {
             const int64_t channels = a.size("channels", 4);
             const auto each = VectorView<float>{nullptr, channels};
             const auto mean = a.output("mean", each), deviation = a.output("inv_std", each);
             const RunningStatistics running = {a.output("running.mean", each),
                                                a.output("running.variance", each), 0.1f,
                                                a.optional_value<int64_t>("running.batches")};
             const auto sums = a.input("sums", VectorView<const double>{nullptr, twice(channels)});
             return batch_norm_statistics(mean, deviation, running, sums, 3, 1e-5f, stream);
           }},
          {"batch_norm_inv_std", [](Arguments& a, cudaStream_t stream) {
             const int64_t channels = a.size("channels", 4);
             const auto deviation = a.output("inv_std", VectorView<float>{nullptr, channels});
             return batch_norm_inv_std(
                 deviation, a.input("variance", VectorView<const float>{nullptr, channels}), 1e-5f, stream);
           }}};
}

template <class T>
std::vector<Operation> norms() {
  return {
      {typed<T>("batch_norm_sums"),
       [](Arguments& a, cudaStream_t stream) {
         const int64_t rows = a.size("rows", 600), channels = a.size("channels", 4);
         const auto sums = a.output("sums", VectorView<double>{nullptr, twice(channels)});
         const auto x = a.input("x", MatrixView<const T>{nullptr, rows, channels});
         return batch_norm_sums(sums, x, a.workspace(batch_norm_workspace_bytes(rows, channels)), stream);
       }},
      {typed<T>("batch_norm"),
       [](Arguments& a, cudaStream_t stream) {
         const int64_t rows = a.size("rows", 5), channels = a.size("channels", 4);
         const auto matrix = MatrixView<const T>{nullptr, rows, channels};
         const auto vector = VectorView<const float>{nullptr, channels};
         const auto y = a.output("y", MatrixView<T>{nullptr, rows, channels}, {"x", "residual"});
         const auto x = a.input("x", matrix);
         const auto mean = a.input("mean", vector), deviation = a.input("inv_std", vector);
         const auto gamma = a.input("gamma", vector), beta = a.input("beta", vector);
         return batch_norm(y, x, mean, deviation, gamma, beta, {a.input("residual", matrix), true}, stream);
       }},
      {typed<T>("batch_norm_backward_sums"),
       [](Arguments& a, cudaStream_t stream) {
         const int64_t rows = a.size("rows", 600), channels = a.size("channels", 4);
         const auto sums = a.output("sums", VectorView<double>{nullptr, twice(channels)});
         const auto gamma = a.output("gamma_gradient", VectorView<float>{nullptr, channels});
         const auto beta = a.output("beta_gradient", VectorView<float>{nullptr, channels});
         const auto dy = a.input("dy", MatrixView<const T>{nullptr, rows, channels});
         const BatchNormSavedOf<T> saved = saved_of<T>(a, rows, channels);
         return batch_norm_backward_sums(sums, gamma, beta, dy, saved,
                                         a.workspace(batch_norm_workspace_bytes(rows, channels)), stream);
       }},
      {typed<T>("batch_norm_backward"), [](Arguments& a, cudaStream_t stream) {
         const int64_t rows = a.size("rows", 5), channels = a.size("channels", 4);
         const auto matrix = MatrixView<T>{nullptr, rows, channels};
         const auto dx = a.output("dx", matrix, {"dy"}),
                    residual = a.output("residual_gradient", matrix, {"dy"});
         const auto dy = a.input("dy", MatrixView<const T>(matrix));
         const BatchNormSavedOf<T> saved = saved_of<T>(a, rows, channels);
         const auto gamma = a.input("gamma", VectorView<const float>{nullptr, channels});
         const auto sums = a.input("sums", VectorView<const double>{nullptr, twice(channels)});
         return batch_norm_backward(dx, residual, dy, saved, gamma, sums, 5, stream);
       }}};
}

template <class T>
std::vector<Operation> layer_norms() {
  const auto rows_of = [](Arguments& a) { return a.size("rows", 2); };
  const auto cols_of = [](Arguments& a) { return a.size("cols", 9000, 1); };
  const auto of = [](int64_t size) { return VectorView<float>{nullptr, size}; };
  const auto in = [](int64_t size) { return VectorView<const float>{nullptr, size}; };
  return {{typed<T>("layer_norm"),
           [=](Arguments& a, cudaStream_t stream) {
             const int64_t rows = rows_of(a), cols = cols_of(a);
             const auto y =
                 a.output("y", MatrixView<T>{nullptr, rows, cols, a.size("y.stride", 9002, 9000)}, {"x"});
             const auto mean = a.output("mean", of(rows)), inv = a.output("inv_std", of(rows));
             const auto x =
                 a.input("x", MatrixView<const T>{nullptr, rows, cols, a.size("x.stride", 9002, 9000)});
             const auto gamma = a.input("gamma", in(cols)), beta = a.input("beta", in(cols));
             return layer_norm(y, mean, inv, x, gamma, beta, 1e-5f,
                               a.workspace(layer_norm_workspace_bytes(rows, cols)), stream);
           }},
          {typed<T>("rms_norm"),
           [=](Arguments& a, cudaStream_t stream) {
             const int64_t rows = rows_of(a), cols = cols_of(a);
             const auto y = a.output("y", MatrixView<T>{nullptr, rows, cols}, {"x"});
             const auto inv = a.output("inv_rms", of(rows));
             const auto x = a.input("x", MatrixView<const T>{nullptr, rows, cols});
             return rms_norm(y, inv, x, a.input("gamma", in(cols)), 1e-5f,
                             a.workspace(layer_norm_workspace_bytes(rows, cols)), stream);
           }},
          {typed<T>("layer_norm_backward"),
           [=](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 600), cols = a.size("cols", 5, 1);
             const auto dx = a.output("dx", MatrixView<T>{nullptr, rows, cols}, {"dy"});
             const auto dgamma = a.output("gamma_gradient", of(cols)),
                        dbeta = a.output("beta_gradient", of(cols));
             const auto dy = a.input("dy", MatrixView<const T>{nullptr, rows, cols});
             LayerNormSavedOf<T> saved;
             saved.x = a.input("saved.x", MatrixView<const T>{nullptr, rows, cols});
             saved.mean = a.input("saved.mean", in(rows));
             saved.inv_std = a.input("saved.inv_std", in(rows));
             const auto gamma = a.input("gamma", in(cols));
             return layer_norm_backward(dx, dgamma, dbeta, dy, saved, gamma,
                                        a.workspace(layer_norm_backward_workspace_bytes(rows, cols)), stream);
           }},
          {typed<T>("rms_norm_backward"), [=](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 600), cols = a.size("cols", 5, 1);
             const auto dx = a.output("dx", MatrixView<T>{nullptr, rows, cols}, {"dy"});
             const auto dgamma = a.output("gamma_gradient", of(cols));
             const auto dy = a.input("dy", MatrixView<const T>{nullptr, rows, cols});
             RmsNormSavedOf<T> saved;
             saved.x = a.input("saved.x", MatrixView<const T>{nullptr, rows, cols});
             saved.inv_rms = a.input("saved.inv_rms", in(rows));
             return rms_norm_backward(dx, dgamma, dy, saved, a.input("gamma", in(cols)),
                                      a.workspace(layer_norm_backward_workspace_bytes(rows, cols)), stream);
           }}};
}

// With a group for each channel.
template <class T>
std::vector<Operation> group_norms() {
  const auto of = [](int64_t size) { return VectorView<float>{nullptr, size}; };
  const auto in = [](int64_t size) { return VectorView<const float>{nullptr, size}; };
  // Channels that are a bad argument may not be a size.
  const auto times = [](int64_t a, int64_t b) {
    return a < 0 || b < 0 ? -1 : std::min(saturating_product({a, b}), int64_t{1} << 58);
  };
  return {{typed<T>("group_norm"),
           [=](Arguments& a, cudaStream_t stream) {
             const int64_t n = a.size("images", 2), h = a.size("height", 3, 1), w = a.size("width", 4, 1),
                           c = a.size("channels", 5, 1);
             const auto y = a.output("y", ImageView<T>{nullptr, n, h, w, c}, {"x"});
             const auto mean = a.output("mean", of(times(n, c))), inv = a.output("inv_std", of(times(n, c)));
             const auto x = a.input("x", ImageView<const T>{nullptr, n, h, w, c});
             const auto gamma = a.input("gamma", in(c)), beta = a.input("beta", in(c));
             return group_norm(y, mean, inv, x, gamma, beta, c, 1e-5f,
                               a.workspace(group_norm_workspace_bytes(n, times(h, w), c)), stream);
           }},
          {typed<T>("group_norm_backward"), [=](Arguments& a, cudaStream_t stream) {
             const int64_t n = a.size("images", 2), h = a.size("height", 3, 1), w = a.size("width", 4, 1),
                           c = a.size("channels", 5, 1);
             const auto dx = a.output("dx", ImageView<T>{nullptr, n, h, w, c}, {"dy"});
             const auto dgamma = a.output("gamma_gradient", of(c)), dbeta = a.output("beta_gradient", of(c));
             const auto dy = a.input("dy", ImageView<const T>{nullptr, n, h, w, c});
             GroupNormSavedOf<T> saved;
             saved.x = a.input("saved.x", ImageView<const T>{nullptr, n, h, w, c});
             saved.mean = a.input("saved.mean", in(times(n, c)));
             saved.inv_std = a.input("saved.inv_std", in(times(n, c)));
             const auto gamma = a.input("gamma", in(c));
             return group_norm_backward(
                 dx, dgamma, dbeta, dy, saved, gamma, c,
                 a.workspace(group_norm_backward_workspace_bytes(n, times(h, w), c, c)), stream);
           }}};
}

// Activations: y from x, and dx from dy and what forward read or wrote.
template <class T>
std::vector<Operation> smooth_activations() {
  std::vector<Operation> all;
  using Forward = Status (*)(VectorView<T>, VectorView<const T>, cudaStream_t);
  for (const auto& [name, run] : {std::pair<const char*, Forward>{"gelu", gelu<T>},
                                  {"gelu_tanh", gelu_tanh<T>},
                                  {"sigmoid", sigmoid<T>}})
    all.push_back({typed<T>(name), [run = run](Arguments& a, cudaStream_t stream) {
                     const int64_t size = a.size("size", 9);
                     const auto y = a.output("y", VectorView<T>{nullptr, size}, {"x"});
                     return run(y, a.input("x", VectorView<const T>{nullptr, size}), stream);
                   }});
  using Backward = Status (*)(VectorView<T>, VectorView<const T>, VectorView<const T>, cudaStream_t);
  for (const auto& [name, run] : {std::pair<const char*, Backward>{"gelu_backward", gelu_backward<T>},
                                  {"gelu_tanh_backward", gelu_tanh_backward<T>},
                                  {"sigmoid_backward", sigmoid_backward<T>}})
    all.push_back({typed<T>(name), [run = run](Arguments& a, cudaStream_t stream) {
                     const int64_t size = a.size("size", 9);
                     const auto dx = a.output("dx", VectorView<T>{nullptr, size}, {"dy", "saved"});
                     const auto dy = a.input("dy", VectorView<const T>{nullptr, size});
                     return run(dx, dy, a.input("saved", VectorView<const T>{nullptr, size}), stream);
                   }});
  return all;
}

template <class T>
std::vector<Operation> layout_conversions() {
  const auto images = [](Arguments& a) {
    return ImageView<T>{nullptr, a.size("images", 2), a.size("height", 3), a.size("width", 4),
                        a.size("channels", 5)};
  };
  const auto filters = [](Arguments& a) {
    return FilterView<T>{nullptr, a.size("out_channels", 2), a.size("height", 3), a.size("width", 4),
                         a.size("in_channels", 5)};
  };
  return {
      {typed<T>("transpose"),
       [](Arguments& a, cudaStream_t stream) {
         const int64_t batches = a.size("batches", 3), rows = a.size("rows", 5), cols = a.size("cols", 7);
         const auto y =
             a.output("y", MatrixBatchView<T>{nullptr, batches, cols, rows, a.size("y.stride", 6, 5),
                                              a.size("y.batch_stride", 42, 41)});
         const auto x =
             a.input("x", MatrixBatchView<const T>{nullptr, batches, rows, cols, a.size("x.stride", 9, 7),
                                                   a.size("x.batch_stride", 45)});
         return transpose(y, x, stream);
       }},
      {typed<T>("nchw_to_nhwc"),
       [images](Arguments& a, cudaStream_t stream) {
         const auto y = a.output("y", images(a));
         return nchw_to_nhwc(y, a.input("x", VectorView<const T>{nullptr, a.size("x.size", 120)}), stream);
       }},
      {typed<T>("nhwc_to_nchw"),
       [images](Arguments& a, cudaStream_t stream) {
         const auto y = a.output("y", VectorView<T>{nullptr, a.size("y.size", 120)});
         return nhwc_to_nchw<T>(y, a.input("x", ImageView<const T>(images(a))), stream);
       }},
      {typed<T>("oihw_to_krsc"),
       [filters](Arguments& a, cudaStream_t stream) {
         const auto y = a.output("y", filters(a));
         return oihw_to_krsc(y, a.input("x", VectorView<const T>{nullptr, a.size("x.size", 120)}), stream);
       }},
      {typed<T>("krsc_to_oihw"), [filters](Arguments& a, cudaStream_t stream) {
         const auto y = a.output("y", VectorView<T>{nullptr, a.size("y.size", 120)});
         return krsc_to_oihw<T>(y, a.input("x", FilterView<const T>(filters(a))), stream);
       }}};
}

template <class T>
std::vector<Operation> elementwise_operations() {
  return {{typed<T>("relu"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto y = a.output("y", VectorView<T>{nullptr, size}, {"x"});
             return relu(y, a.input("x", VectorView<const T>{nullptr, size}), stream);
           }},
          {typed<T>("relu_backward"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto dx = a.output("dx", VectorView<T>{nullptr, size}, {"dy", "y"});
             const auto dy = a.input("dy", VectorView<const T>{nullptr, size});
             return relu_backward(dx, dy, a.input("y", VectorView<const T>{nullptr, size}), stream);
           }},
          {typed<T>("add_bias"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 5), cols = a.size("cols", 6);
             const auto y = a.output("y", MatrixView<T>{nullptr, rows, cols}, {"x"});
             const auto x = a.input("x", MatrixView<const T>{nullptr, rows, cols});
             return add_bias(y, x, a.input("bias", VectorView<const float>{nullptr, cols}), stream);
           }},
          {typed<T>("add"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto y = a.output("y", VectorView<T>{nullptr, size}, {"a", "b"});
             const auto one = a.input("a", VectorView<const T>{nullptr, size});
             return add(y, one, a.input("b", VectorView<const T>{nullptr, size}), true, stream);
           }},
          {typed<T>("dropout"), [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto y = a.output("y", VectorView<T>{nullptr, size}, {"x"});
             const auto x = a.input("x", VectorView<const T>{nullptr, size});
             const DropoutStream random = {1, 2, a.input_value<int64_t>("random.step"),
                                           a.size("random.first", 6)};
             return dropout(y, x, 0.5f, random, stream);
           }}};
}

template <class T>
std::vector<Operation> casts() {
  return {{typed<T>("cast"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto y = a.output("y", VectorView<T>{nullptr, size});
             return cast(y, a.input("x", VectorView<const float>{nullptr, size}), stream);
           }},
          {concat("cast/from_", name_of(dtype_of<T>)), [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto y = a.output("y", VectorView<float>{nullptr, size});
             return cast(y, a.input("x", VectorView<const T>{nullptr, size}), stream);
           }}};
}

std::vector<Operation> random_operations() {
  return {{"fill_uniform",
           [](Arguments& a, cudaStream_t stream) {
             return fill_uniform(a.output("x", VectorView<float>{nullptr, a.size("size", 9)}), 0, 1, {1, 2},
                                 stream);
           }},
          {"fill_normal", [](Arguments& a, cudaStream_t stream) {
             return fill_normal(a.output("x", VectorView<float>{nullptr, a.size("size", 9)}), 0, 1, {1, 2},
                                stream);
           }}};
}

template <class T>
std::vector<Operation> losses() {
  return {{typed<T>("softmax_cross_entropy"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 300), classes = a.size("classes", 10, 1);
             const auto gradient = a.output("gradient", MatrixView<T>{nullptr, rows, classes}, {"logits"});
             auto* loss_stats = a.output_value<LossStats>("loss_stats");
             const auto logits = a.input("logits", MatrixView<const T>{nullptr, rows, classes});
             const auto labels = a.input("labels", VectorView<const int32_t>{nullptr, rows});
             return softmax_cross_entropy(gradient, loss_stats, logits, labels, 1,
                                          a.workspace(softmax_cross_entropy_workspace_bytes(rows, classes)),
                                          stream);
           }},
          {typed<T>("squared_error"), [](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 30), cols = a.size("cols", 10);
             const auto gradient = a.output("gradient", MatrixView<T>{nullptr, rows, cols}, {"prediction"});
             auto* loss_stats = a.output_value<LossStats>("loss_stats");
             const auto prediction = a.input("prediction", MatrixView<const T>{nullptr, rows, cols});
             const auto target = a.input("target", MatrixView<const float>{nullptr, rows, cols});
             return squared_error(gradient, loss_stats, prediction, target, 1,
                                  a.workspace(squared_error_workspace_bytes(rows, cols)), stream);
           }}};
}

template <class T>
std::vector<Operation> losses_with_options() {
  const auto of = [](int64_t size) { return VectorView<float>{nullptr, size}; };
  const auto in = [](int64_t size) { return VectorView<const float>{nullptr, size}; };
  const auto options = [=](Arguments& a, int64_t classes) {
    CrossEntropyOptions all;
    all.class_weights = a.input("class_weights", in(classes));
    all.reduction = a.enumerator("reduction", LossReduction::mean);
    return all;
  };
  return {{typed<T>("cross_entropy"),
           [=](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 2), classes = a.size("classes", 9000, 1);
             const auto gradient = a.output("gradient", MatrixView<T>{nullptr, rows, classes}, {"logits"});
             float* const loss = a.output_value<float>("loss");
             const auto losses = a.output("losses", of(rows));
             const auto logits = a.input("logits", MatrixView<const T>{nullptr, rows, classes});
             const auto labels = a.input("labels", VectorView<const int32_t>{nullptr, rows});
             const CrossEntropyOptions with = options(a, classes);
             return cross_entropy(gradient, loss, losses, logits, labels, with,
                                  a.workspace(cross_entropy_workspace_bytes(rows, classes)), stream);
           }},
          {typed<T>("cross_entropy_of_probabilities"),
           [=](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 2), classes = a.size("classes", 9000, 1);
             const auto gradient = a.output("gradient", MatrixView<T>{nullptr, rows, classes}, {"logits"});
             float* const loss = a.output_value<float>("loss");
             const auto losses = a.output("losses", of(rows));
             const auto logits = a.input("logits", MatrixView<const T>{nullptr, rows, classes});
             const auto targets = a.input("targets", MatrixView<const T>{nullptr, rows, classes});
             const CrossEntropyOptions with = options(a, classes);
             return cross_entropy_of_probabilities(gradient, loss, losses, logits, targets, with,
                                                   a.workspace(cross_entropy_workspace_bytes(rows, classes)),
                                                   stream);
           }},
          {typed<T>("binary_cross_entropy"), [=](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 2), cols = a.size("cols", 9000);
             const auto gradient = a.output("gradient", MatrixView<T>{nullptr, rows, cols}, {"logits"});
             float* const loss = a.output_value<float>("loss");
             const auto losses = a.output("losses", of(rows));
             const auto logits = a.input("logits", MatrixView<const T>{nullptr, rows, cols});
             const auto targets = a.input("targets", MatrixView<const T>{nullptr, rows, cols});
             BinaryCrossEntropyOptions with;
             with.weights = a.input("weights", in(cols));
             with.positive_weights = a.input("positive_weights", in(cols));
             with.reduction = a.enumerator("reduction", LossReduction::mean);
             return binary_cross_entropy(gradient, loss, losses, logits, targets, with,
                                         a.workspace(binary_cross_entropy_workspace_bytes(rows, cols)),
                                         stream);
           }}};
}

// The gradients are called with the output of the forward pass.
template <class T>
std::vector<Operation> softmaxes() {
  using Forward = Status (*)(MatrixView<T>, MatrixView<const T>, Workspace, cudaStream_t);
  using Backward =
      Status (*)(MatrixView<T>, MatrixView<const T>, MatrixView<const T>, Workspace, cudaStream_t);
  std::vector<Operation> all;
  for (const auto& [name, function] :
       {std::pair<const char*, Forward>{"softmax", softmax<T>}, {"log_softmax", log_softmax<T>}})
    all.push_back({typed<T>(name), [function = function](Arguments& a, cudaStream_t stream) {
                     const int64_t rows = a.size("rows", 2), cols = a.size("cols", 9000);
                     const auto y = a.output(
                         "y", MatrixView<T>{nullptr, rows, cols, a.size("y.stride", 9002, 9000)}, {"x"});
                     const auto x = a.input(
                         "x", MatrixView<const T>{nullptr, rows, cols, a.size("x.stride", 9002, 9000)});
                     return function(y, x, a.workspace(softmax_workspace_bytes(rows, cols)), stream);
                   }});
  for (const auto& [name, function] :
       {std::pair<const char*, Backward>{"softmax_backward", softmax_backward<T>},
        {"log_softmax_backward", log_softmax_backward<T>}})
    all.push_back({typed<T>(name), [function = function](Arguments& a, cudaStream_t stream) {
                     const int64_t rows = a.size("rows", 2), cols = a.size("cols", 9000);
                     const auto dx = a.output("dx", MatrixView<T>{nullptr, rows, cols}, {"dy", "y"});
                     const auto dy = a.input("dy", MatrixView<const T>{nullptr, rows, cols});
                     const auto y = a.input("y", MatrixView<const T>{nullptr, rows, cols});
                     return function(dx, dy, y, a.workspace(softmax_workspace_bytes(rows, cols)), stream);
                   }});
  return all;
}

std::vector<Operation> optimizers() {
  const auto sgd = [](Arguments& a, bool with_velocity, cudaStream_t stream) {
    const int64_t size = a.size("size", 9);
    const auto parameters = a.output("parameters", VectorView<float>{nullptr, size});
    VectorView<float> velocity;
    if (with_velocity) velocity = a.output("velocity", VectorView<float>{nullptr, size});
    const auto gradient = a.input("gradient", VectorView<const float>{nullptr, size});
    const auto* rate = a.input_value<float>("learning_rate");
    const SgdOptions options = {.momentum = with_velocity ? 0.9f : 0,
                                .first_nonfinite = a.optional_value<unsigned long long>("first_nonfinite")};
    return sgd_update(parameters, velocity, gradient, rate, options, stream);
  };
  return {{"sgd_update/momentum", [sgd](Arguments& a, cudaStream_t stream) { return sgd(a, true, stream); }},
          {"sgd_update/plain", [sgd](Arguments& a, cudaStream_t stream) { return sgd(a, false, stream); }},
          {"adam_begin_step",
           [](Arguments& a, cudaStream_t stream) {
             auto* state = a.output_value<AdamState>("state");
             const auto* rate = a.input_value<float>("learning_rate");
             return adam_begin_step(
                 state, rate, {.first_nonfinite = a.optional_value<unsigned long long>("first_nonfinite")},
                 stream);
           }},
          {"adam_update", [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto each = VectorView<float>{nullptr, size};
             const auto parameters = a.output("parameters", each), first = a.output("first", each),
                        second = a.output("second", each);
             const auto gradient = a.input("gradient", VectorView<const float>{nullptr, size});
             const auto* state = a.input_value<AdamState>("state");
             return adam_update(parameters, first, second, gradient, state,
                                {.first_nonfinite = a.optional_value<unsigned long long>("first_nonfinite")},
                                stream);
           }}};
}

// With a gradient and a copy of T.
template <class T>
std::vector<Operation> narrow_optimizers() {
  return {{typed<T>("sgd_update"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto parameters = a.output("parameters", VectorView<float>{nullptr, size});
             const auto copy = a.output("rounded", VectorView<T>{nullptr, size});
             const auto velocity = a.output("velocity", VectorView<float>{nullptr, size});
             const auto gradient = a.input("gradient", VectorView<const T>{nullptr, size});
             const auto* rate = a.input_value<float>("learning_rate");
             return sgd_update(parameters, copy, velocity, gradient, rate, {.momentum = 0.9f}, stream);
           }},
          {typed<T>("adam_update"), [](Arguments& a, cudaStream_t stream) {
             const int64_t size = a.size("size", 9);
             const auto each = VectorView<float>{nullptr, size};
             const auto parameters = a.output("parameters", each);
             const auto copy = a.output("rounded", VectorView<T>{nullptr, size});
             const auto first = a.output("first", each), second = a.output("second", each);
             const auto gradient = a.input("gradient", VectorView<const T>{nullptr, size});
             const auto* state = a.input_value<AdamState>("state");
             return adam_update(parameters, copy, first, second, gradient, state, {}, stream);
           }}};
}

// S: of the images, uint8_t or float. L: of the labels, uint8_t or int32_t.
template <class T, class S, class L>
std::vector<Operation> gathers_of(const std::string& suffix) {
  const auto gather = [](bool augmented) {
    return [augmented](Arguments& a, cudaStream_t stream) {
      const int64_t shard = a.size("shard", 3), samples = a.size("samples", 7), h = a.size("height", 2),
                    w = a.size("width", 3), c = a.size("channels", 2);
      const auto x = a.output("x", ImageView<T>{nullptr, shard, h, w, c});
      const auto labels = a.output("labels", VectorView<int32_t>{nullptr, shard});
      const auto images = a.input("images", ImageView<const S>{nullptr, samples, h, w, c});
      const auto image_labels = a.input("image_labels", VectorView<const L>{nullptr, samples});
      const auto order = a.input("order", VectorView<const int32_t>{nullptr, a.size("order.size", 7)});
      const BatchPosition position = {a.input_value<int64_t>("position.step"), 5,
                                      a.size("position.first", 1)};
      if (!augmented) return gather_batch(x, labels, images, image_labels, order, position, 1, 0, stream);
      const auto scale = a.input("scale", VectorView<const float>{nullptr, c});
      const auto shift = a.input("shift", VectorView<const float>{nullptr, c});
      return gather_augmented_batch(x, labels, images, image_labels, order, position, scale, shift,
                                    {.flip = 0.5f, .erase = 0.5f},
                                    {1, a.input_value<int64_t>("random.epoch")}, stream);
    };
  };
  return {{typed<T>("gather_batch") + suffix, gather(false)},
          {typed<T>("gather_augmented_batch") + suffix, gather(true)}};
}
template <class T>
std::vector<Operation> gathers() {
  std::vector<Operation> all = gathers_of<T, uint8_t, uint8_t>("");
  for (const Operation& operation : gathers_of<T, float, int32_t>("/floats")) all.push_back(operation);
  return all;
}

std::vector<Operation> data_operations() {
  return {
      {"shuffle",
       [](Arguments& a, cudaStream_t stream) {
         const auto order = a.output("order", VectorView<int32_t>{nullptr, a.size("size", 9)});
         return shuffle(order, 1, a.input_value<int64_t>("epoch"), stream);
       }},
      {"mark_nonfinite_loss",
       [](Arguments& a, cudaStream_t stream) {
         return mark_nonfinite_loss(a.output_value<float>("gradient"), a.input_value<LossStats>("loss_stats"),
                                    stream);
       }},
      {"advance", [](Arguments& a,
                     cudaStream_t stream) { return advance(a.output_value<int64_t>("counter"), 1, stream); }},
      {"fill",
       [](Arguments& a, cudaStream_t stream) {
         return fill(a.output("x", VectorView<float>{nullptr, a.size("size", 9)}), 1, stream);
       }},
      {"copy_columns", [](Arguments& a, cudaStream_t stream) {
         const int64_t rows = a.size("rows", 4), cols = a.size("cols", 3);
         const auto to = a.output("to", MatrixView<float>{nullptr, rows, cols, a.size("to.stride", 5, 3)});
         const auto from =
             a.input("from", MatrixView<const float>{nullptr, rows, cols, a.size("from.stride", 4, 3)});
         return copy_columns(to, from, stream);
       }}};
}

template <class T>
std::vector<Operation> reductions() {
  return {{typed<T>("bias_gradient"),
           [](Arguments& a, cudaStream_t stream) {
             const int64_t rows = a.size("rows", 600), cols = a.size("cols", 3);
             const auto db = a.output("db", VectorView<float>{nullptr, cols});
             const auto dy = a.input("dy", MatrixView<const T>{nullptr, rows, cols, a.size("stride", 4, 3)});
             return bias_gradient(db, dy, 1, a.workspace(bias_gradient_workspace_bytes(rows, cols)), stream);
           }},
          {typed<T>("first_nonfinite"), [](Arguments& a, cudaStream_t stream) {
             const auto index = a.output("index", VectorView<unsigned long long>{nullptr, 1});
             return first_nonfinite(index, a.input("x", VectorView<const T>{nullptr, a.size("size", 9)}),
                                    false, stream);
           }}};
}

// One result for each row, or for each column.
template <class T>
std::vector<Operation> row_and_column_reductions() {
  std::vector<Operation> all;
  const auto x_of = [](Arguments& a, int64_t rows, int64_t cols, int64_t good) {
    return a.input("x", MatrixView<const T>{nullptr, rows, cols, a.size("x.stride", good + 2, good)});
  };
  for (const bool of_rows : {true, false})
    all.push_back(
        {typed<T>(of_rows ? "reduce_rows" : "reduce_columns"), [=](Arguments& a, cudaStream_t stream) {
           const int64_t good = of_rows ? 9000 : 3;
           const int64_t rows = a.size("rows", of_rows ? 2 : 600), cols = a.size("cols", good);
           const auto y = a.output("y", VectorView<float>{nullptr, of_rows ? rows : cols});
           const auto x = x_of(a, rows, cols, good);
           const auto op = a.enumerator("op", ReduceOperator::l2_norm);
           const int64_t bytes =
               of_rows ? reduce_rows_workspace_bytes(rows, cols) : reduce_columns_workspace_bytes(rows, cols);
           return of_rows ? reduce_rows(y, x, op, a.workspace(bytes), stream)
                          : reduce_columns(y, x, op, a.workspace(bytes), stream);
         }});
  using Index = Status (*)(VectorView<int64_t>, MatrixView<const T>, Workspace, cudaStream_t);
  for (const auto& [name, run] : {std::pair<const char*, Index>{"argmax_rows", argmax_rows<const T>},
                                  {"argmin_rows", argmin_rows<const T>}})
    all.push_back({typed<T>(name), [=, run = run](Arguments& a, cudaStream_t stream) {
                     const int64_t rows = a.size("rows", 2), cols = a.size("cols", 9000);
                     const auto index = a.output("index", VectorView<int64_t>{nullptr, rows});
                     const auto x = x_of(a, rows, cols, 9000);
                     return run(index, x, a.workspace(reduce_rows_workspace_bytes(rows, cols)), stream);
                   }});
  for (const auto& [name, run] : {std::pair<const char*, Index>{"argmax_columns", argmax_columns<const T>},
                                  {"argmin_columns", argmin_columns<const T>}})
    all.push_back({typed<T>(name), [=, run = run](Arguments& a, cudaStream_t stream) {
                     const int64_t rows = a.size("rows", 600), cols = a.size("cols", 3);
                     const auto index = a.output("index", VectorView<int64_t>{nullptr, cols});
                     const auto x = x_of(a, rows, cols, 3);
                     return run(index, x, a.workspace(reduce_columns_workspace_bytes(rows, cols)), stream);
                   }});
  return all;
}

// With a whole matrix, a row, a column and a value.
template <class T>
std::vector<Operation> matrix_operators() {
  const auto in = [](Arguments& a, const char* name, int64_t rows, int64_t cols) {
    return a.input(name, MatrixView<const T>{nullptr, rows, cols});
  };
  const auto out = [](Arguments& a, int64_t rows, int64_t cols, std::vector<std::string> may_be) {
    return a.output("y", MatrixView<T>{nullptr, rows, cols}, std::move(may_be));
  };
  const auto op_of = [](Arguments& a) { return a.enumerator("op", BinaryOperator::maximum); };
  const auto rows_of = [](Arguments& a) { return a.size("rows", 5); };
  const auto cols_of = [](Arguments& a) { return a.size("cols", 6); };
  return {
      {typed<T>("unary"),
       [=](Arguments& a, cudaStream_t stream) {
         const int64_t rows = rows_of(a), cols = cols_of(a);
         const auto y = a.output("y", MatrixView<T>{nullptr, rows, cols, a.size("y.stride", 8, 6)}, {"x"});
         const auto x = a.input("x", MatrixView<const T>{nullptr, rows, cols, a.size("x.stride", 8, 6)});
         return unary(y, x, a.enumerator("op", UnaryOperator::tanh), stream);
       }},
      {typed<T>("binary"),
       [=](Arguments& a, cudaStream_t stream) {
         const int64_t rows = rows_of(a), cols = cols_of(a);
         const auto y = out(a, rows, cols, {"a", "b"});
         const auto one = in(a, "a", rows, cols), other = in(a, "b", rows, cols);
         return binary(y, one, other, op_of(a), stream);
       }},
      {typed<T>("binary") + (std::is_same_v<T, float> ? "/row_and_column" : "_row_and_column"),
       [=](Arguments& a, cudaStream_t stream) {
         const int64_t rows = rows_of(a), cols = cols_of(a);
         const auto y = out(a, rows, cols, {});
         const auto row = in(a, "a", 1, cols), column = in(a, "b", rows, 1);
         return binary(y, row, column, op_of(a), stream);
       }},
      {typed<T>("binary") + (std::is_same_v<T, float> ? "/value" : "_value"),
       [=](Arguments& a, cudaStream_t stream) {
         const int64_t rows = rows_of(a), cols = cols_of(a);
         const auto y = out(a, rows, cols, {"a"});
         return binary(y, in(a, "a", rows, cols), 2.0f, op_of(a), stream);
       }}};
}

std::vector<Operation> comparisons() {
  return {
      {"count_differences", [](Arguments& a, cudaStream_t stream) {
         const int64_t size = a.size("size", 9);
         const auto count = a.output("count", VectorView<unsigned long long>{nullptr, 1});
         const auto one = a.input("a", VectorView<const float>{nullptr, size});
         return count_differences(count, one, a.input("b", VectorView<const float>{nullptr, size}), stream);
       }}};
}

// The operations on elements of type T.
template <class T>
void add_operations_of(std::vector<Operation>& all) {
  for (const std::vector<Operation>& some :
       {pools<T>(), indexed_pools<T>(), adaptive_pools<T>(), norms<T>(), layer_norms<T>(), group_norms<T>(),
        elementwise_operations<T>(), smooth_activations<T>(), losses<T>(), losses_with_options<T>(),
        softmaxes<T>(), gathers<T>(), reductions<T>(), layout_conversions<T>(),
        row_and_column_reductions<T>(), matrix_operators<T>()})
    all.insert(all.end(), some.begin(), some.end());
}

std::vector<Operation> all_operations() {
  std::vector<Operation> all;
  for (const std::vector<Operation>& some :
       {gemms(), batched_gemms(), tensor_gemms(), convolutions(), norm_statistics(), casts<__nv_bfloat16>(),
        casts<__half>(), narrow_optimizers<__nv_bfloat16>(), narrow_optimizers<__half>(), random_operations(),
        optimizers(), data_operations(), comparisons()})
    all.insert(all.end(), some.begin(), some.end());
  add_operations_of<float>(all);
  add_operations_of<__nv_bfloat16>(all);
  add_operations_of<__half>(all);
  return all;
}

class EveryOperation : public testing::TestWithParam<Operation> {};

TEST_P(EveryOperation, RefusesEachInvalidArgumentAndChangesNothing) {
  const Operation& operation = GetParam();
  const Stream stream;
  Arguments::Memory memory;
  Arguments first(memory);
  ASSERT_TRUE(ok(operation.call(first, stream)));
  Arguments good(memory, first);
  ASSERT_TRUE(ok(operation.call(good, stream)));
  stream.synchronize();
  ASSERT_GE(good.ways(), first.ways());
  ASSERT_GT(first.ways(), 0);
  for (int way = 0; way < good.ways(); ++way) {
    const std::vector<std::byte> before = memory.contents();
    Arguments arguments(memory, first, way);
    const Status status = operation.call(arguments, stream);
    stream.synchronize();
    if (arguments.must() == Arguments::Must::succeed) {
      EXPECT_TRUE(ok(status)) << arguments.spoilt();
    } else {
      EXPECT_TRUE(refused(status, operation.function() + ": ")) << arguments.spoilt();
      EXPECT_TRUE(memory.is(before)) << "memory was changed: " << arguments.spoilt();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryOperation, testing::ValuesIn(all_operations()), [](const auto& info) {
  return std::regex_replace(info.param.name, std::regex("/"), "_");
});

TEST(Operations, AllDeclaredOperationsAreTested) {
  const std::set<std::string> declared = declared_operations();
  EXPECT_GT(declared.size(), 30u);
  std::set<std::string> tested;
  for (const Operation& operation : all_operations()) tested.insert(operation.function());
  for (const std::string& name : declared)
    EXPECT_TRUE(tested.contains(name)) << name << " must be added to all_operations() in this file";
  for (const std::string& name : tested)
    EXPECT_TRUE(declared.contains(name)) << name << " is in all_operations(), and no header declares it";
}

// An empty view omits an operand. A null pointer with elements, or with a negative side, is refused.
TEST(OptionalOperands, AreOmittedByEmptyViews) {
  const Stream stream;
  Buffer<float> prediction(std::vector<float>(16, 1)), target(std::vector<float>(16, 2));
  Buffer<LossStats> loss_stats(std::vector<LossStats>(1));
  Buffer<std::byte> scratch(squared_error_workspace_bytes(4, 4));
  const auto loss = [&](MatrixView<float> gradient) {
    return squared_error(gradient, loss_stats.data(), matrix<const float>(prediction.data(), 4, 4),
                         matrix<const float>(target.data(), 4, 4), 1, {scratch.data(), scratch.bytes()},
                         stream);
  };
  EXPECT_TRUE(ok(loss({})));
  EXPECT_TRUE(ok(loss({nullptr, 0, 4})));
  EXPECT_TRUE(refused(loss({nullptr, 4, 4}), "gradient is null with 16 elements"));
  EXPECT_TRUE(refused(loss({nullptr, 0, -4, 0}), "gradient is 0 x -4"));
}

TEST(Workspaces, OfEmptyBatchesAreEmpty) {
  const Stream stream;
  Buffer<float> filter(std::vector<float>(64 * 9 * 64, 1)), dw(64 * 9 * 64);
  const ImageView<float> none = {nullptr, 0, 8, 8, 64};
  const FilterView<const float> weights = {filter.data(), 64, 3, 3, 64};
  const Conv2dOptions options = {.pad_h = 1, .pad_w = 1, .algorithm = ConvAlgorithm::winograd};
  EXPECT_EQ(conv2d_workspace_bytes(none, weights, options).forward, 0);
  EXPECT_TRUE(ok(conv2d_forward(none, none, weights, options, {}, {}, stream)));
  EXPECT_TRUE(ok(conv2d_data_gradient(none, none, weights, options, {}, {}, stream)));
  EXPECT_TRUE(ok(conv2d_filter_gradient({dw.data(), 64, 3, 3, 64}, none, none, options, {}, {}, stream)));
}

// Workspace sizes of shapes that fit into no memory: more than any memory, without overflow.
TEST(WorkspaceBytes, OfHugeShapesAreHuge) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_GT(gemm_workspace_bytes({4, 4, kHuge}), 0);
  EXPECT_GE(gemm_workspace_bytes({1, kHuge, kHuge}), 0);
  EXPECT_GE(gemm_workspace_bytes({INT64_MAX, INT64_MAX, INT64_MAX}), 0);
  EXPECT_EQ(batch_norm_workspace_bytes(kHuge, kHuge), INT64_MAX);
  EXPECT_EQ(bias_gradient_workspace_bytes(INT64_MAX, kHuge), INT64_MAX);
  EXPECT_EQ(reduce_rows_workspace_bytes(kHuge, INT64_MAX), INT64_MAX);
  EXPECT_EQ(reduce_columns_workspace_bytes(INT64_MAX, kHuge), INT64_MAX);
  EXPECT_GE(squared_error_workspace_bytes(kHuge, 4), INT64_MAX / 2048 * 8);
  EXPECT_EQ(softmax_cross_entropy_workspace_bytes(kHuge, 100), INT64_MAX);
  EXPECT_EQ(softmax_workspace_bytes(kHuge, 10000), INT64_MAX);
  EXPECT_EQ(cross_entropy_workspace_bytes(kHuge, 10000), INT64_MAX);
  EXPECT_EQ(binary_cross_entropy_workspace_bytes(kHuge, 10), INT64_MAX);
  EXPECT_EQ(layer_norm_workspace_bytes(kHuge, 10000), INT64_MAX);
  EXPECT_EQ(layer_norm_backward_workspace_bytes(kHuge, 10000), INT64_MAX);
  EXPECT_EQ(group_norm_workspace_bytes(kHuge, 1, 10000), INT64_MAX);
  EXPECT_EQ(group_norm_backward_workspace_bytes(kHuge, 1, 10000, 10), INT64_MAX);
  EXPECT_EQ(conv2d_workspace_bytes({nullptr, kHuge, 8, 8, 32}, {nullptr, 32, 3, 3, 32}, {}).forward, 0);
  EXPECT_EQ(conv2d_workspace_bytes({nullptr, 1, 8, 8, 32}, {nullptr, 32, 3, 3, 32}, {.stride_h = 0}).forward,
            0);
}

TEST(OutputSizes, OfImpossibleArgumentsAreZero) {
  static_assert(conv2d_output_size(8, 3, 0, 0) == 0 && pooled_size(8, 3, 0, 0) == 0);
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(conv2d_output_size(8, 3, bad, 0), 0);
    EXPECT_EQ(pooled_size(8, 3, bad, 0), 0);
    EXPECT_EQ(conv2d_output_size(8, bad, 1, 0), 0);
    EXPECT_EQ(pooled_size(8, bad, 1, 0), 0);
  }
  EXPECT_EQ(conv2d_output_size(INT64_MAX, 3, 1, INT64_MAX), 0);
  EXPECT_EQ(pooled_size(INT64_MAX, INT64_MAX, 1, INT64_MAX / 2), 0);
  EXPECT_EQ(conv2d_output_size(2, 3, 1, 0), 0);
  EXPECT_EQ(conv2d_output_size(8, 3, 2, 1), 4);
}

TEST(PoolWindow, StrideDefaultsToTheWindowSize) {
  constexpr PoolWindow window = {.height = 3, .width = 5};
  static_assert(window.stride_h == 3 && window.stride_w == 5);
}

}  // namespace
}  // namespace rondo::test
