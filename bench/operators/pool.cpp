#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/pool/pool.h>

#include <algorithm>
#include <limits>

namespace rondo::bench {
namespace {

struct PoolShape {
  int64_t n, h, w, c, window, stride, pad, p, q;

  int64_t x_size() const { return saturating_product({n, h, w, c}); }
  int64_t y_size() const { return saturating_product({n, p, q, c}); }
  PoolWindow options() const {
    return {.height = window,
            .width = window,
            .stride_h = stride,
            .stride_w = stride,
            .pad_h = pad,
            .pad_w = pad};
  }
  double area() const { return static_cast<double>(window) * static_cast<double>(window); }

  // Calls visit(index in x) for the elements of the image in the window of y's element, row by row.
  template <class Visit>
  void visit_window(int64_t image, int64_t row, int64_t col, int64_t channel, const Visit& visit) const {
    const int64_t top = row * stride - pad, left = col * stride - pad;
    for (int64_t i = std::max<int64_t>(top, 0); i < std::min(top + window, h); ++i)
      for (int64_t j = std::max<int64_t>(left, 0); j < std::min(left + window, w); ++j)
        visit(((image * h + i) * w + j) * c + channel);
  }
  // Calls visit(row, column) for the windows that contain row i and column j of the image.
  template <class Visit>
  void visit_windows_of(int64_t i, int64_t j, const Visit& visit) const {
    const auto first = [&](int64_t at) {
      return std::max<int64_t>(0, (at + pad - window + stride) / stride);
    };
    for (int64_t row = first(i); row < p && row * stride - pad <= i; ++row)
      for (int64_t col = first(j); col < q && col * stride - pad <= j; ++col) visit(row, col);
  }
};

PoolShape pool_shape(const OperatorRequest& request) {
  const Shape& s = request.shape;
  const int64_t window = s["window"], pad = s["pad"], stride = s["stride"] == 0 ? window : s["stride"];
  if (pad >= window) throw Error(bad_argument("pad is ", pad, ", must be below window, which is ", window));
  const int64_t p = pooled_size(s["h"], window, stride, pad), q = pooled_size(s["w"], window, stride, pad);
  if (p == 0 || q == 0)
    throw Error(bad_argument("window is ", window, ", must be at most the padded image: ", s["h"] + 2 * pad,
                             " x ", s["w"] + 2 * pad));
  return {s["n"], s["h"], s["w"], s["c"], window, stride, pad, p, q};
}

std::string pool_text(const OperatorRequest& request, const PoolShape& s) {
  return concat(request.kind == "avg" ? "average" : "max", " pooling of ", counted(s.n, "image"), " of ", s.h,
                " x ", s.w, " x ", s.c, ", windows of ", s.window, " x ", s.window,
                s.stride == s.window ? "" : concat(", stride ", s.stride),
                s.pad == 0 ? "" : concat(", padding ", s.pad), type_suffix(request.type));
}

template <class T>
OperatorCall pool_forward(const PoolShape& s, bool average) {
  OperatorCall call;
  const auto x = call.operands.input<T>(s.x_size());
  const auto y = call.operands.result<T>(s.y_size());
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const ImageView<T> to = {o[y], s.n, s.p, s.q, s.c};
    const ImageView<const T> from = {o[x], s.n, s.h, s.w, s.c};
    return average ? avg_pool(to, from, s.options(), AverageOver::window, stream)
                   : max_pool(to, from, s.options(), stream);
  };
  call.is_right = [=](const HostOperands& host) {
    const T* const from = host.after(x);
    return check_some(s.y_size(), [&](int64_t i) {
      double sum = 0, magnitude = 0, most = -std::numeric_limits<double>::infinity();
      s.visit_window(i / s.c / s.q / s.p, i / s.c / s.q % s.p, i / s.c % s.q, i % s.c, [&](int64_t at) {
        const double value = static_cast<float>(from[at]);
        sum += value, magnitude += std::abs(value), most = std::max(most, value);
      });
      const T found = host.after(y)[i];
      return average ? is_close(found, sum / s.area(), magnitude / s.area())
                     : static_cast<double>(static_cast<float>(found)) == most;
    });
  };
  return call;
}

template <class T>
OperatorCall pool_gradient(const PoolShape& s, bool average) {
  OperatorCall call;
  OperandList& list = call.operands;
  const auto dy = list.input<T>(s.y_size());
  const auto x = list.input<T>(average ? 0 : s.x_size()), y = list.input<T>(average ? 0 : s.y_size());
  const auto dx = list.result<T>(s.x_size());
  const auto x_view = [=](const Operands& o, auto id) { return ImageView<T>{o[id], s.n, s.h, s.w, s.c}; };
  const auto y_view = [=](const Operands& o, auto id) { return ImageView<T>{o[id], s.n, s.p, s.q, s.c}; };
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return average ? avg_pool_backward(x_view(o, dx), y_view(o, dy), s.options(), AverageOver::window, stream)
                   : max_pool_backward(x_view(o, dx), y_view(o, dy), y_view(o, y), x_view(o, x), s.options(),
                                       stream);
  };
  if (!average)
    call.prepare = [=](const Operands& o, cudaStream_t stream) {
      return max_pool(y_view(o, y), x_view(o, x), s.options(), stream);
    };
  call.is_right = [=](const HostOperands& host) {
    return check_some(s.x_size(), [&](int64_t i) {
      const int64_t channel = i % s.c, col = i / s.c % s.w, row = i / s.c / s.w % s.h,
                    image = i / s.c / s.w / s.h;
      double sum = 0, magnitude = 0;
      s.visit_windows_of(row, col, [&](int64_t p, int64_t q) {
        if (!average) {  // the first maximum of the window receives its gradient
          int64_t first = -1;
          s.visit_window(image, p, q, channel, [&](int64_t at) {
            if (first < 0 || static_cast<float>(host.after(x)[at]) > static_cast<float>(host.after(x)[first]))
              first = at;
          });
          if (first != i) return;
        }
        const double value =
            static_cast<float>(host.after(dy)[((image * s.p + p) * s.q + q) * s.c + channel]);
        sum += value, magnitude += std::abs(value);
      });
      const double size = average ? s.area() : 1;
      return is_close(host.after(dx)[i], sum / size, magnitude / size);
    });
  };
  return call;
}

OperatorCall make_pool(const OperatorRequest& request) {
  const PoolShape shape = pool_shape(request);
  const bool average = request.kind == "avg";
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return request.pass == "backward" ? pool_gradient<T>(shape, average) : pool_forward<T>(shape, average);
  });
  call.name = pool_text(request, shape);
  return call;
}

}  // namespace

Operator pool_operator() {
  const std::vector<Dimension> dimensions = {{"n", "images", 32},
                                             {"h", "height of an image", 28},
                                             {"w", "width of an image", 28},
                                             {"c", "channels of an image", 64},
                                             {"window", "height and width of a window", 2},
                                             {"stride", "stride; 0: the window", 0, 0},
                                             {"pad", "padding", 0, 0}};
  const std::vector<std::string> passes = {"forward", "backward"};
  return {"pool",
          "Pooling of NHWC images, and its gradient",
          {{"avg", dimensions, passes, make_pool}, {"max", dimensions, passes, make_pool}}};
}

}  // namespace rondo::bench
