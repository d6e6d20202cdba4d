// The operators around the products on drawn shapes, with tensors of 32 and of 16 bits.
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/cross_entropy.h>
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
#include <rondo/kernels/softmax/softmax.h>
#include <rondo/tests/kernels/operations/positive.h>
#include <rondo/tests/readings/record.h>

#include <type_traits>

namespace rondo::test {
namespace {

// One draw: sizes, and how far the operands are from their alignment.
struct Drawn {
  Drawn(const char* type, uint64_t seed) : random(seed), prefix(concat(type, " ", seed, ": ")) {
    offset = random.below(2) == 0 ? 0 : random.below(9);
  }
  int64_t size() { return 1 + random.below(random.below(4) == 0 ? 20'000 : 400); }
  float number() { return static_cast<float>(random.normal()); }

  template <class Run>
  void run(const std::string& name, Run&& run) {
    record_run(prefix + name, run, offset);
  }

  Random random;
  std::string prefix;
  int64_t offset;
};

template <class T>
void flat(Drawn& d) {
  const int64_t size = d.size();
  const std::string suffix = concat(" of ", size);
  d.run("relu" + suffix, [&](Operands& o) {
    T *y = o.out<T>(size), *x = o.in(o.values_of<T>(size));
    return relu<T>({y, size}, {x, size}, o.stream());
  });
  d.run("relu_backward" + suffix, [&](Operands& o) {
    T *dx = o.out<T>(size), *dy = o.in(o.values_of<T>(size)), *y = o.in(o.values_of<T>(size));
    return relu_backward<T>({dx, size}, {dy, size}, {y, size}, o.stream());
  });
  const bool with_relu = d.random.below(2) == 0;
  d.run("add" + suffix, [&](Operands& o) {
    T *y = o.out<T>(size), *a = o.in(o.values_of<T>(size)), *b = o.in(o.values_of<T>(size));
    return add<T>({y, size}, {a, size}, {b, size}, with_relu, o.stream());
  });
  if constexpr (!std::is_same_v<T, float>) {
    d.run("cast" + suffix, [&](Operands& o) {
      T* y = o.out<T>(size);
      return cast({y, size}, {o.in(size), size}, o.stream());
    });
    d.run("cast back" + suffix, [&](Operands& o) {
      float* y = o.out(size);
      T* x = o.in(o.values_of<T>(size));
      return cast({y, size}, {x, size}, o.stream());
    });
  }
  const auto probability = static_cast<float>(d.random.uniform());
  const DropoutStream stream = {.seed = d.random.next(), .layer = 3, .first = d.random.below(50)};
  d.run("dropout" + suffix, [&](Operands& o) {
    T *y = o.out<T>(size), *x = o.in(o.values_of<T>(size));
    return dropout<T>({y, size}, {x, size}, probability,
                      {stream.seed, stream.layer, o.aligned<int64_t>(11), stream.first}, o.stream());
  });
}

void random_numbers(Drawn& d) {
  const int64_t size = d.size();
  const float low = d.number(), width = d.number() * d.number();
  const RandomStream stream = {d.random.next(), d.random.next()};
  d.run(concat("fill_uniform of ", size), [&](Operands& o) {
    return fill_uniform({o.out(size), size}, low, low + width * width, stream, o.stream());
  });
  d.run(concat("fill_normal of ", size), [&](Operands& o) {
    return fill_normal({o.out(size), size}, low, width * width, stream, o.stream());
  });
}

// `T`: of the rounded copy, and of the gradient.
template <class T>
void optimizers(Drawn& d) {
  const int64_t size = d.size();
  const SgdOptions sgd = {.scale = d.number(), .momentum = 0.9f, .weight_decay = 0.01f};
  const AdamOptions adam = {.scale = d.number(), .weight_decay = 0.02f, .decoupled = d.random.below(2) == 0};
  const auto begin = [](AdamState& state) {
    state.steps = 3, state.correction1 = 0.271f, state.correction2 = 0.003f, state.rate = 0.013f;
  };
  const float rate = d.number();
  d.run(concat("sgd_update of ", size), [&](Operands& o) {
    float *p = o.in_out(size), *v = o.in_out(size);
    T* g = o.in(o.values_of<T>(size));
    if constexpr (std::is_same_v<T, float>)
      return sgd_update({p, size}, {v, size}, {g, size}, o.aligned(rate), sgd, o.stream());
    else
      return sgd_update({p, size}, VectorView<T>{o.out<T>(size), size}, {v, size},
                        VectorView<const T>{g, size}, o.aligned(rate), sgd, o.stream());
  });
  d.run(concat("adam_update of ", size), [&](Operands& o) {
    float *p = o.in_out(size), *m = o.in_out(size), *v = o.in_out(positive(o.values(size)));
    T* g = o.in(o.values_of<T>(size));
    AdamState* const state = o.aligned_out<AdamState>(begin);
    if constexpr (std::is_same_v<T, float>)
      return adam_update({p, size}, {m, size}, {v, size}, {g, size}, state, adam, o.stream());
    else
      return adam_update({p, size}, VectorView<T>{o.out<T>(size), size}, {m, size}, {v, size},
                         VectorView<const T>{g, size}, state, adam, o.stream());
  });
  d.run("adam_begin_step", [&](Operands& o) {
    return adam_begin_step(o.aligned_out<AdamState>(begin), o.in(1), adam, o.stream());
  });
}

template <class T>
void pools(Drawn& d) {
  const PoolWindow window = {
      1 + d.random.below(3), 1 + d.random.below(3), 1 + d.random.below(3), 1 + d.random.below(3), 0, 0};
  const int64_t n = 1 + d.random.below(3), h = 3 + d.random.below(7), w = 3 + d.random.below(7),
                c = 1 + d.random.below(40);
  const int64_t p = pooled_size(h, window.height, window.stride_h, 0),
                q = pooled_size(w, window.width, window.stride_w, 0);
  const int64_t x_size = n * h * w * c, y_size = n * p * q * c;
  const auto x_view = [=](auto* data) { return ImageView{data, n, h, w, c}; };
  const auto y_view = [=](auto* data) { return ImageView{data, n, p, q, c}; };
  const std::string suffix = concat(" of ", n, " x ", h, " x ", w, " x ", c);
  d.run("max_pool" + suffix, [&](Operands& o) {
    T *y = o.out<T>(y_size), *dx = o.out<T>(x_size), *x = o.in(o.values_of<T>(x_size)),
      *dy = o.in(o.values_of<T>(y_size));
    RONDO_RETURN_IF_ERROR(max_pool(y_view(y), x_view(x), window, o.stream()));
    return max_pool_backward(x_view(dx), y_view(dy), y_view(y), x_view(x), window, o.stream());
  });
  const AverageOver over = d.random.below(2) == 0 ? AverageOver::window : AverageOver::image;
  d.run("avg_pool" + suffix, [&](Operands& o) {
    T *y = o.out<T>(y_size), *dx = o.out<T>(x_size), *dz = o.out<T>(x_size),
      *x = o.in(o.values_of<T>(x_size)), *dy = o.in(o.values_of<T>(y_size));
    RONDO_RETURN_IF_ERROR(avg_pool(y_view(y), x_view(x), window, over, o.stream()));
    RONDO_RETURN_IF_ERROR(avg_pool_backward(x_view(dx), y_view(dy), window, over, o.stream()));
    return avg_pool_relu_backward(x_view(dz), y_view(dy), x_view(x), window, over, o.stream());
  });
}

template <class T>
void pools_with_indices(Drawn& d) {
  const bool pairs = d.random.below(3) == 0;
  PoolWindow window;
  if (!pairs) window = {2 + d.random.below(2), 2, 1 + d.random.below(3), 1 + d.random.below(3), 1, 0};
  if (!pairs) window.dilation_h = 1 + d.random.below(3);
  const int64_t n = 1 + d.random.below(3), h = 5 + d.random.below(7), w = 3 + d.random.below(7),
                c = 1 + d.random.below(40);
  const int64_t p = pooled_height(h, window), q = pooled_width(w, window);
  const int64_t x_size = n * h * w * c, y_size = n * p * q * c;
  const auto x_view = [=](auto* data) { return ImageView{data, n, h, w, c}; };
  const auto y_view = [=](auto* data) { return ImageView{data, n, p, q, c}; };
  const std::string suffix = concat(" of ", n, " x ", h, " x ", w, " x ", c);
  d.run("max_pool_with_indices" + suffix, [&](Operands& o) {
    T *y = o.out<T>(y_size), *dx = o.out<T>(x_size), *back = o.out<T>(x_size),
      *x = o.in(o.values_of<T>(x_size)), *dy = o.in(o.values_of<T>(y_size)), *again = o.out<T>(y_size);
    const ImageView<int32_t> indices = y_view(o.out<int32_t>(y_size));
    RONDO_RETURN_IF_ERROR(max_pool_with_indices(y_view(y), indices, x_view(x), window, o.stream()));
    RONDO_RETURN_IF_ERROR(
        max_pool_with_indices_backward(x_view(dx), y_view(dy), indices, window, o.stream()));
    RONDO_RETURN_IF_ERROR(max_unpool(x_view(back), y_view(dy), indices, window, o.stream()));
    return max_unpool_backward(y_view(again), x_view(x), indices, window, o.stream());
  });
  d.run("adaptive pools" + suffix, [&](Operands& o) {
    T *y = o.out<T>(y_size), *maxima = o.out<T>(y_size), *dx = o.out<T>(x_size),
      *of_maxima = o.out<T>(x_size), *x = o.in(o.values_of<T>(x_size)), *dy = o.in(o.values_of<T>(y_size));
    const ImageView<int32_t> indices = y_view(o.out<int32_t>(y_size));
    RONDO_RETURN_IF_ERROR(adaptive_avg_pool(y_view(y), x_view(x), o.stream()));
    RONDO_RETURN_IF_ERROR(adaptive_avg_pool_backward(x_view(dx), y_view(dy), o.stream()));
    RONDO_RETURN_IF_ERROR(adaptive_max_pool(y_view(maxima), indices, x_view(x), o.stream()));
    return adaptive_max_pool_backward(x_view(of_maxima), y_view(dy), indices, o.stream());
  });
}

template <class T>
void batch_norms(Drawn& d) {
  const int64_t rows = 2 + d.random.below(d.random.below(3) == 0 ? 700 : 60), c = 1 + d.random.below(70);
  const auto matrix_of = [=](auto* data) { return matrix(data, rows, c); };
  const bool with_relu = d.random.below(2) == 0, with_residual = d.random.below(2) == 0,
             counted = d.random.below(2) == 0;
  // Forward and backward: each gets the results of the one before.
  d.run(concat("batch_norm of ", rows, " x ", c), [&](Operands& o) {
    double *sums = o.out<double>(2 * c), *backward_sums = o.out<double>(2 * c);
    T *x = o.in(o.values_of<T>(rows * c)), *y = o.out<T>(rows * c),
      *residual = with_residual ? o.in(o.values_of<T>(rows * c)) : nullptr,
      *dy = o.in(o.values_of<T>(rows * c)), *dx = o.out<T>(rows * c),
      *dr = with_residual ? o.out<T>(rows * c) : nullptr;
    float *mean = o.out(c), *inv = o.out(c), *running_mean = o.in_out(c),
          *running_variance = o.in_out(positive(o.values(c))), *gamma = o.in(c), *beta = o.in(c),
          *dgamma = o.out(c), *dbeta = o.out(c);
    const Workspace workspace = o.workspace(batch_norm_workspace_bytes(rows, c));
    RONDO_RETURN_IF_ERROR(batch_norm_sums({sums, 2 * c}, matrix<const T>(x, rows, c), workspace, o.stream()));
    RONDO_RETURN_IF_ERROR(batch_norm_statistics(
        {mean, c}, {inv, c},
        {{running_mean, c}, {running_variance, c}, 0.1f, counted ? o.aligned<int64_t>(rows) : nullptr},
        {sums, 2 * c}, rows, 1e-5f, o.stream()));
    const MatrixView<const T> skip = residual ? matrix<const T>(residual, rows, c) : MatrixView<const T>();
    RONDO_RETURN_IF_ERROR(batch_norm(matrix_of(y), matrix<const T>(x, rows, c), {mean, c}, {inv, c},
                                     {gamma, c}, {beta, c}, {skip, with_relu}, o.stream()));
    const BatchNormSavedOf<T> saved = {matrix<const T>(x, rows, c),
                                       {mean, c},
                                       {inv, c},
                                       with_relu ? matrix<const T>(y, rows, c) : MatrixView<const T>()};
    RONDO_RETURN_IF_ERROR(batch_norm_backward_sums({backward_sums, 2 * c}, {dgamma, c}, {dbeta, c},
                                                   matrix<const T>(dy, rows, c), saved, workspace,
                                                   o.stream()));
    return batch_norm_backward(matrix_of(dx), dr ? matrix_of(dr) : MatrixView<T>(),
                               matrix<const T>(dy, rows, c), saved, {gamma, c}, {backward_sums, 2 * c}, rows,
                               o.stream());
  });
}

template <class T>
void reductions_and_losses(Drawn& d) {
  const int64_t rows = 1 + d.random.below(d.random.below(3) == 0 ? 700 : 60);
  const int64_t cols = 2 + d.random.below(d.random.below(3) == 0 ? 3000 / rows + 70 : 60);
  const std::string suffix = concat(" of ", rows, " x ", cols);
  const auto no_stats = [](LossStats&) {};
  d.run("bias_gradient" + suffix, [&](Operands& o) {
    float* db = o.in_out(cols);
    T* dy = o.in(o.values_of<T>(rows * cols));
    return bias_gradient({db, cols}, matrix<const T>(dy, rows, cols), 0.3f,
                         o.workspace(bias_gradient_workspace_bytes(rows, cols)), o.stream());
  });
  const float scale = d.number();
  std::vector<int32_t> labels(static_cast<size_t>(rows));
  for (int32_t& label : labels) label = static_cast<int32_t>(d.random.below(cols));
  d.run("softmax_cross_entropy" + suffix, [&](Operands& o) {
    T *gradient = o.out<T>(rows * cols), *logits = o.in(o.values_of<T>(rows * cols));
    return softmax_cross_entropy(matrix(gradient, rows, cols), o.aligned_out<LossStats>(no_stats),
                                 matrix<const T>(logits, rows, cols), {o.in(labels), rows}, scale,
                                 o.workspace(softmax_cross_entropy_workspace_bytes(rows, cols)), o.stream());
  });
  d.run("squared_error" + suffix, [&](Operands& o) {
    T *gradient = o.out<T>(rows * cols), *prediction = o.in(o.values_of<T>(rows * cols));
    return squared_error(matrix(gradient, rows, cols), o.aligned_out<LossStats>(no_stats),
                         matrix<const T>(prediction, rows, cols),
                         matrix<const float>(o.in(rows * cols), rows, cols), scale,
                         o.workspace(squared_error_workspace_bytes(rows, cols)), o.stream());
  });
}

// Forward and backward: each gets the results of the one before.
template <class T>
void softmaxes(Drawn& d) {
  const int64_t kind = d.random.below(6);
  const int64_t cols = 1 + d.random.below(kind < 2 ? 130 : kind < 5 ? 1500 : 20'000);
  const int64_t rows = 1 + d.random.below(cols < 130 ? 50 : 3);
  const std::string suffix = concat(" of ", rows, " x ", cols);
  const auto in = [=](Operands& o) { return matrix<const T>(o.in(o.values_of<T>(rows * cols)), rows, cols); };
  const auto out = [=](Operands& o) { return matrix(o.out<T>(rows * cols), rows, cols); };
  d.run("softmax" + suffix, [&](Operands& o) {
    const MatrixView<T> y = out(o), dx = out(o);
    const Workspace workspace = o.workspace(softmax_workspace_bytes(rows, cols));
    RONDO_RETURN_IF_ERROR(softmax(y, in(o), workspace, o.stream()));
    return softmax_backward(dx, in(o), y, workspace, o.stream());
  });
  d.run("log_softmax" + suffix, [&](Operands& o) {
    const MatrixView<T> y = out(o), dx = out(o);
    const Workspace workspace = o.workspace(softmax_workspace_bytes(rows, cols));
    RONDO_RETURN_IF_ERROR(log_softmax(y, in(o), workspace, o.stream()));
    return log_softmax_backward(dx, in(o), y, workspace, o.stream());
  });
}

template <class T>
void losses_with_options(Drawn& d) {
  const int64_t kind = d.random.below(6);
  const int64_t cols = 1 + d.random.below(kind < 2 ? 130 : kind < 5 ? 1500 : 20'000);
  const int64_t rows = 1 + d.random.below(cols < 130 ? 50 : 3);
  const std::string suffix = concat(" of ", rows, " x ", cols);
  const auto in = [=](Operands& o) { return matrix<const T>(o.in(o.values_of<T>(rows * cols)), rows, cols); };
  const auto out = [=](Operands& o) { return matrix(o.out<T>(rows * cols), rows, cols); };
  const bool with_weights = d.random.below(2) == 0;
  CrossEntropyOptions options = {.label_smoothing = 0.1f * static_cast<float>(d.random.below(3)),
                                 .scale = d.number()};
  std::vector<int32_t> labels(static_cast<size_t>(rows));
  for (int32_t& label : labels)
    label = static_cast<int32_t>(d.random.below(4) == 0 ? -100 : d.random.below(cols));
  d.run("cross_entropy" + suffix, [&](Operands& o) {
    const MatrixView<T> gradient = out(o), of_targets = out(o);
    float *loss = o.out(1), *losses = o.out(rows);
    if (with_weights) options.class_weights = {o.in(cols), cols};
    const Workspace workspace = o.workspace(cross_entropy_workspace_bytes(rows, cols));
    const MatrixView<const T> logits = in(o);
    RONDO_RETURN_IF_ERROR(cross_entropy(gradient, loss, {losses, rows}, logits, {o.in(labels), rows}, options,
                                        workspace, o.stream()));
    return cross_entropy_of_probabilities(of_targets, o.out(1), {o.out(rows), rows}, logits, in(o), options,
                                          workspace, o.stream());
  });
  d.run("binary_cross_entropy" + suffix, [&](Operands& o) {
    const MatrixView<T> gradient = out(o);
    BinaryCrossEntropyOptions with;
    if (with_weights) with.positive_weights = {o.in(cols), cols};
    float *loss = o.out(1), *losses = o.out(rows);
    const MatrixView<const T> logits = in(o);
    return binary_cross_entropy(gradient, loss, {losses, rows}, logits, in(o), with,
                                o.workspace(binary_cross_entropy_workspace_bytes(rows, cols)), o.stream());
  });
}

template <class T>
void layer_norms(Drawn& d) {
  const int64_t kind = d.random.below(6);
  const int64_t cols = 1 + d.random.below(kind < 2 ? 130 : kind < 5 ? 1500 : 20'000);
  const int64_t rows = 1 + d.random.below(cols < 130 ? 600 : 3);
  const bool rms = d.random.below(2) == 0, affine = d.random.below(3) > 0;
  d.run(concat(rms ? "rms_norm of " : "layer_norm of ", rows, " x ", cols), [&](Operands& o) {
    T *y = o.out<T>(rows * cols), *x = o.in(o.values_of<T>(rows * cols)),
      *dy = o.in(o.values_of<T>(rows * cols)), *dx = o.out<T>(rows * cols);
    float *mean = rms ? nullptr : o.out(rows), *inv = o.out(rows), *dgamma = o.out(cols),
          *dbeta = rms ? nullptr : o.out(cols);
    const VectorView<const float> gamma = {affine ? o.in(cols) : nullptr, affine ? cols : 0},
                                  beta = {affine ? o.in(cols) : nullptr, affine ? cols : 0};
    const Workspace workspace = o.workspace(layer_norm_backward_workspace_bytes(rows, cols));
    const auto view = [=](T* data) { return matrix(data, rows, cols); };
    if (rms) {
      RONDO_RETURN_IF_ERROR(rms_norm(view(y), {inv, rows}, view(x), gamma, 1e-5f, workspace, o.stream()));
      return rms_norm_backward(view(dx), {dgamma, cols}, view(dy), {view(x), {inv, rows}}, gamma, workspace,
                               o.stream());
    }
    RONDO_RETURN_IF_ERROR(
        layer_norm(view(y), {mean, rows}, {inv, rows}, view(x), gamma, beta, 1e-5f, workspace, o.stream()));
    return layer_norm_backward(view(dx), {dgamma, cols}, {dbeta, cols}, view(dy),
                               {view(x), {mean, rows}, {inv, rows}}, gamma, workspace, o.stream());
  });
}

template <class T>
void group_norms(Drawn& d) {
  const int64_t groups = 1 + d.random.below(6), c = groups * (1 + d.random.below(12)),
                n = 1 + d.random.below(3), h = 1 + d.random.below(30), w = 1 + d.random.below(30),
                size = n * h * w * c;
  d.run(concat("group_norm of ", n, " x ", h, " x ", w, " x ", c, ", ", groups), [&](Operands& o) {
    T *y = o.out<T>(size), *x = o.in(o.values_of<T>(size)), *dy = o.in(o.values_of<T>(size)),
      *dx = o.out<T>(size);
    float *mean = o.out(n * groups), *inv = o.out(n * groups), *gamma = o.in(c), *beta = o.in(c),
          *dgamma = o.out(c), *dbeta = o.out(c);
    const auto view = [=](T* data) { return ImageView<T>{data, n, h, w, c}; };
    const Workspace workspace = o.workspace(group_norm_backward_workspace_bytes(n, h * w, c, groups));
    RONDO_RETURN_IF_ERROR(group_norm(view(y), {mean, n * groups}, {inv, n * groups}, view(x), {gamma, c},
                                     {beta, c}, groups, 1e-5f, workspace, o.stream()));
    return group_norm_backward(view(dx), {dgamma, c}, {dbeta, c}, view(dy),
                               {view(x), {mean, n * groups}, {inv, n * groups}}, {gamma, c}, groups,
                               workspace, o.stream());
  });
}

template <class T>
void batches(Drawn& d) {
  const int64_t samples = 2 + d.random.below(20), shard = 1 + d.random.below(samples),
                h = 1 + d.random.below(9), w = 1 + d.random.below(9), c = 1 + d.random.below(4);
  std::vector<uint8_t> images(static_cast<size_t>(samples * h * w * c)),
      classes(static_cast<size_t>(samples));
  for (auto* values : {&images, &classes})
    for (uint8_t& value : *values) value = static_cast<uint8_t>(d.random.below(256));
  const float scale = d.number(), shift = d.number();
  d.run(concat("gather_batch of ", shard, " x ", h, " x ", w, " x ", c), [&](Operands& o) {
    T* x = o.out<T>(shard * h * w * c);
    int32_t *labels = o.out<int32_t>(shard), *order = o.out<int32_t>(samples);
    RONDO_RETURN_IF_ERROR(shuffle({order, samples}, 17, o.aligned<int64_t>(2), o.stream()));
    return gather_batch<T>({x, shard, h, w, c}, {labels, shard}, {o.in(images), samples, h, w, c},
                           {o.in(classes), samples}, {order, samples}, {o.aligned<int64_t>(0), shard, 0},
                           scale, shift, o.stream());
  });
  const float other_scale = d.number(), other_shift = d.number();
  const int64_t padding = d.random.below(std::min(h, w));
  const std::vector<float> floats = normal_values(samples * h * w * c, 5);
  d.run(concat("gather_batch of floats, ", shard, " x ", h, " x ", w, " x ", c), [&](Operands& o) {
    const ImageView<const float> stored = {o.in(floats), samples, h, w, c};
    return gather_batch<T>({o.out<T>(shard * h * w * c), shard, h, w, c}, {o.out<int32_t>(shard), shard},
                           stored, {o.in(classes), samples}, {}, {o.aligned<int64_t>(0), shard, 0}, scale,
                           shift, o.stream());
  });
  d.run(concat("gather_augmented_batch of ", shard, " x ", h, " x ", w, " x ", c), [&](Operands& o) {
    T* x = o.out<T>(shard * h * w * c);
    int32_t* labels = o.out<int32_t>(shard);
    std::vector<float> scales(static_cast<size_t>(c), scale), shifts(static_cast<size_t>(c), shift);
    scales[0] = other_scale;
    shifts[0] = other_shift;
    return gather_augmented_batch<T>(
        {x, shard, h, w, c}, {labels, shard}, {o.in(images), samples, h, w, c}, {o.in(classes), samples}, {},
        {o.aligned<int64_t>(0), shard, 0}, {o.in(scales), c}, {o.in(shifts), c},
        {.padding = padding, .flip = 0.5f, .erase = 0.5f}, {17, o.aligned<int64_t>(2)}, o.stream());
  });
}

template <class T>
void record_operators(const char* type) {
  for (int i = 0; i < draws(); ++i) {
    Drawn d(type, static_cast<uint64_t>(i));
    flat<T>(d);
    if constexpr (std::is_same_v<T, float>) random_numbers(d);
    optimizers<T>(d);
    pools<T>(d);
    pools_with_indices<T>(d);
    batch_norms<T>(d);
    reductions_and_losses<T>(d);
    softmaxes<T>(d);
    losses_with_options<T>(d);
    layer_norms<T>(d);
    group_norms<T>(d);
    batches<T>(d);
  }
}

TEST(Recorded, DrawnOperators) {
  record_operators<float>("float32");
  record_operators<__nv_bfloat16>("bfloat16");
  record_operators<__half>("float16");
}

}  // namespace
}  // namespace rondo::test
