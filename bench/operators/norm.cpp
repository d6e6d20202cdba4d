// Batch, layer and group normalisation differ in which elements they normalise together, and so do their
// checks.
#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/layer_norm.h>

#include <cmath>

namespace rondo::bench {
namespace {

constexpr float kEps = 1e-5f;

// `count` groups of elements that are normalised together. The element with number j of group g is at
// at(g, j), and has the gamma and beta of index parameter(g, j).
struct Groups {
  int64_t count, size;
  std::function<int64_t(int64_t, int64_t)> at, parameter;
  bool centred = true;  // false: RMS
};

struct Statistics {
  double mean = 0, inv_std = 0;
};
template <class T>
Statistics statistics(const Groups& groups, int64_t group, const T* x) {
  const double size = static_cast<double>(groups.size);
  double mean = 0, squares = 0;
  for (int64_t j = 0; groups.centred && j < groups.size; ++j) mean += value_at(x, groups.at(group, j)) / size;
  for (int64_t j = 0; j < groups.size; ++j) {
    const double difference = value_at(x, groups.at(group, j)) - mean;
    squares += difference * difference / size;
  }
  return {mean, 1 / std::sqrt(squares + kEps)};
}

constexpr int64_t kCheckedGroups = 3;

template <class T>
bool is_normalised(const Groups& groups, const T* y, const T* x, const float* gamma, const float* beta) {
  return check_some(
      groups.count,
      [&](int64_t g) {
        const Statistics s = statistics(groups, g, x);
        return check_some(groups.size, [&](int64_t j) {
          const int64_t i = groups.at(g, j), p = groups.parameter(g, j);
          const double scaled = (value_at(x, i) - s.mean) * s.inv_std * value_at(gamma, p),
                       shift = beta ? value_at(beta, p) : 0;
          return is_close(y[i], scaled + shift, 1 + std::abs(scaled) + std::abs(shift));
        });
      },
      kCheckedGroups);
}

// With xhat = (x - mean) inv_std and g = gamma dy: dx = inv_std (g - mean(g) - xhat mean(g xhat)).
template <class T>
bool is_norm_gradient(const Groups& groups, const T* dx, const T* dy, const T* x, const float* mean,
                      const float* inv_std, const float* gamma) {
  return check_some(
      groups.count,
      [&](int64_t g) {
        const double size = static_cast<double>(groups.size), centre = mean ? value_at(mean, g) : 0,
                     inverse = value_at(inv_std, g);
        const auto xhat = [&](int64_t j) { return (value_at(x, groups.at(g, j)) - centre) * inverse; };
        const auto scaled = [&](int64_t j) {
          return value_at(dy, groups.at(g, j)) * value_at(gamma, groups.parameter(g, j));
        };
        double of_g = 0, of_products = 0;
        for (int64_t j = 0; j < groups.size; ++j) {
          if (groups.centred) of_g += scaled(j) / size;
          of_products += scaled(j) * xhat(j) / size;
        }
        return check_some(groups.size, [&](int64_t j) {
          const double expected = inverse * (scaled(j) - of_g - xhat(j) * of_products);
          const double magnitude =
              inverse * (1 + std::abs(scaled(j)) + std::abs(of_g) + std::abs(xhat(j) * of_products));
          return is_close(dx[groups.at(g, j)], expected, magnitude);
        });
      },
      kCheckedGroups);
}

// ---- Matrices: batch, layer and RMS normalisation ----

template <class T>
OperatorCall batch_call(int64_t rows, int64_t channels, bool forward, const Groups& groups) {
  OperatorCall call;
  OperandList& list = call.operands;
  const auto x = list.input<T>(rows * channels), dy = list.input<T>(forward ? 0 : rows * channels);
  const auto y = list.result<T>(rows * channels);
  const auto gamma = list.input<float>(channels), beta = list.input<float>(forward ? channels : 0);
  const auto mean = list.add<float>(channels, forward ? Role::result : Role::input, Fill::normal),
             inv_std = list.add<float>(channels, forward ? Role::result : Role::input, Fill::uniform);
  const auto sums = list.add<double>(2 * channels, Role::scratch);
  const int64_t bytes = batch_norm_workspace_bytes(rows, channels);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) -> Status {
    const auto of_channels = [&](auto id) { return VectorView<float>{o[id], channels}; };
    const MatrixView<T> to = matrix(o[y], rows, channels), from = matrix(o[x], rows, channels);
    const VectorView<double> totals = {o[sums], 2 * channels};
    const Workspace scratch = {o[workspace], bytes};
    if (forward) {
      RONDO_RETURN_IF_ERROR(batch_norm_sums(totals, from, scratch, stream));
      RONDO_RETURN_IF_ERROR(
          batch_norm_statistics(of_channels(mean), of_channels(inv_std), {}, totals, rows, kEps, stream));
      return batch_norm(to, from, of_channels(mean), of_channels(inv_std), of_channels(gamma),
                        of_channels(beta), {}, stream);
    }
    const BatchNormSavedOf<T> saved = {from, of_channels(mean), of_channels(inv_std)};
    const MatrixView<T> gradient = matrix(o[dy], rows, channels);
    RONDO_RETURN_IF_ERROR(batch_norm_backward_sums(totals, {}, {}, gradient, saved, scratch, stream));
    return batch_norm_backward(to, {}, gradient, saved, of_channels(gamma), totals, rows, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return forward ? is_normalised(groups, host.after(y), host.after(x), host.after(gamma), host.after(beta))
                   : is_norm_gradient(groups, host.after(y), host.after(dy), host.after(x), host.after(mean),
                                      host.after(inv_std), host.after(gamma));
  };
  return call;
}

template <class T>
OperatorCall row_call(int64_t rows, int64_t cols, bool forward, const Groups& groups) {
  const bool rms = !groups.centred;
  OperatorCall call;
  OperandList& list = call.operands;
  const auto x = list.input<T>(rows * cols), dy = list.input<T>(forward ? 0 : rows * cols);
  const auto y = list.result<T>(rows * cols);
  const auto gamma = list.input<float>(cols), beta = list.input<float>(forward && !rms ? cols : 0);
  const Role of_rows = forward ? Role::result : Role::input;
  const auto mean = list.add<float>(rms ? 0 : rows, of_rows, Fill::normal),
             inv_std = list.add<float>(rows, of_rows, Fill::uniform);
  const auto dgamma = list.result<float>(forward ? 0 : cols),
             dbeta = list.result<float>(forward || rms ? 0 : cols);
  const int64_t bytes =
      forward ? layer_norm_workspace_bytes(rows, cols) : layer_norm_backward_workspace_bytes(rows, cols);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const auto vector = [&](auto id, int64_t size) { return VectorView<float>{o[id], size}; };
    const MatrixView<T> to = matrix(o[y], rows, cols), from = matrix(o[x], rows, cols);
    const Workspace scratch = {o[workspace], bytes};
    if (forward)
      return rms ? rms_norm(to, vector(inv_std, rows), from, vector(gamma, cols), kEps, scratch, stream)
                 : layer_norm(to, vector(mean, rows), vector(inv_std, rows), from, vector(gamma, cols),
                              vector(beta, cols), kEps, scratch, stream);
    const MatrixView<const T> gradient = matrix<const T>(o[dy], rows, cols);
    if (rms)
      return rms_norm_backward(to, vector(dgamma, cols), gradient,
                               RmsNormSavedOf<T>{from, vector(inv_std, rows)}, vector(gamma, cols), scratch,
                               stream);
    return layer_norm_backward(to, vector(dgamma, cols), vector(dbeta, cols), gradient,
                               LayerNormSavedOf<T>{from, vector(mean, rows), vector(inv_std, rows)},
                               vector(gamma, cols), scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return forward
               ? is_normalised(groups, host.after(y), host.after(x), host.after(gamma),
                               rms ? nullptr : host.after(beta))
               : is_norm_gradient(groups, host.after(y), host.after(dy), host.after(x),
                                  rms ? nullptr : host.after(mean), host.after(inv_std), host.after(gamma));
  };
  return call;
}

OperatorCall make_matrix_norm(const OperatorRequest& request) {
  const bool batch = request.kind == "batch", rms = request.kind == "rms";
  const int64_t rows = request.shape["rows"], cols = request.shape[batch ? "channels" : "cols"];
  Groups groups = {rows, cols, [cols](int64_t row, int64_t j) { return row * cols + j; },
                   [](int64_t, int64_t j) { return j; }, !rms};
  if (batch)
    groups = {cols, rows, [cols](int64_t channel, int64_t j) { return j * cols + channel; },
              [](int64_t channel, int64_t) { return channel; }};
  const bool forward = request.pass == "forward";
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return batch ? batch_call<T>(rows, cols, forward, groups) : row_call<T>(rows, cols, forward, groups);
  });
  call.name = concat(batch ? "batch"
                     : rms ? "RMS"
                           : "layer",
                     " normalisation of ", counted(rows, "row"), ", ",
                     counted(cols, batch ? "channel" : "column"), type_suffix(request.type));
  return call;
}

// ---- Group normalisation of images ----

template <class T>
OperatorCall group_call(const Shape& s, bool forward, const Groups& normalised) {
  const int64_t n = s["n"], h = s["h"], w = s["w"], c = s["c"], groups = s["groups"],
                size = saturating_product({n, h, w, c});
  OperatorCall call;
  OperandList& list = call.operands;
  const auto x = list.input<T>(size), dy = list.input<T>(forward ? 0 : size);
  const auto y = list.result<T>(size);
  const auto gamma = list.input<float>(c), beta = list.input<float>(forward ? c : 0);
  const Role of_groups = forward ? Role::result : Role::input;
  const auto mean = list.add<float>(n * groups, of_groups, Fill::normal),
             inv_std = list.add<float>(n * groups, of_groups, Fill::uniform);
  const auto dgamma = list.result<float>(forward ? 0 : c), dbeta = list.result<float>(forward ? 0 : c);
  const int64_t bytes = forward ? group_norm_workspace_bytes(n, h * w, c)
                                : group_norm_backward_workspace_bytes(n, h * w, c, groups);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const auto vector = [&](auto id, int64_t elements) { return VectorView<float>{o[id], elements}; };
    const auto image = [&](auto id) { return ImageView<T>{o[id], n, h, w, c}; };
    const Workspace scratch = {o[workspace], bytes};
    const VectorView<float> centres = vector(mean, n * groups), inverses = vector(inv_std, n * groups);
    if (forward)
      return group_norm(image(y), centres, inverses, image(x), vector(gamma, c), vector(beta, c), groups,
                        kEps, scratch, stream);
    return group_norm_backward(image(y), vector(dgamma, c), vector(dbeta, c), image(dy),
                               GroupNormSavedOf<T>{image(x), centres, inverses}, vector(gamma, c), groups,
                               scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return forward
               ? is_normalised(normalised, host.after(y), host.after(x), host.after(gamma), host.after(beta))
               : is_norm_gradient(normalised, host.after(y), host.after(dy), host.after(x), host.after(mean),
                                  host.after(inv_std), host.after(gamma));
  };
  return call;
}

OperatorCall make_group_norm(const OperatorRequest& request) {
  const Shape& s = request.shape;
  const int64_t n = s["n"], h = s["h"], w = s["w"], c = s["c"], groups = s["groups"];
  if (c % groups != 0) throw Error(bad_argument("groups is ", groups, ", must divide c, which is ", c));
  const int64_t per_group = c / groups, pixels = h * w;
  const auto channel = [=](int64_t group, int64_t j) { return group % groups * per_group + j % per_group; };
  const Groups normalised = {n * groups, pixels * per_group,
                             [=](int64_t group, int64_t j) {
                               return (group / groups * pixels + j / per_group) * c + channel(group, j);
                             },
                             channel};
  OperatorCall call = with_type(
      request.type, [&]<class T>() { return group_call<T>(s, request.pass == "forward", normalised); });
  call.name = concat("group normalisation of ", counted(n, "image"), " of ", h, " x ", w, " x ", c, ", ",
                     counted(groups, "group"), type_suffix(request.type));
  return call;
}

}  // namespace

Operator norm_operator() {
  const std::vector<std::string> passes = {"forward", "backward"};
  const std::vector<Dimension> rows = {{"rows", "rows", 8192}, {"cols", "columns", 1024}};
  return {"norm",
          "Normalisation, and its gradients",
          {{"batch",
            {{"rows", "rows: images x height x width", 25088}, {"channels", "channels", 64}},
            passes,
            make_matrix_norm},
           {"layer", rows, passes, make_matrix_norm},
           {"rms", rows, passes, make_matrix_norm},
           {"group",
            {{"n", "images", 32},
             {"h", "height of an image", 28},
             {"w", "width of an image", 28},
             {"c", "channels", 64},
             {"groups", "groups of channels", 32}},
            passes,
            make_group_norm}}};
}

}  // namespace rondo::bench
