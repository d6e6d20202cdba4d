#include <rondo/bench/operators/covered.h>
#include <rondo/bench/operators/pool.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/pool/max_unpool.h>
#include <rondo/kernels/pool/pool.h>

#include <algorithm>
#include <limits>

namespace rondo::bench {
namespace {

struct PoolShape {
  int64_t n, h, w, c, p, q;
  PoolWindow window;  // of equal sides, strides and paddings

  int64_t x_size() const { return saturating_product({n, h, w, c}); }
  int64_t covered_size() const {  // the elements of x that are in windows
    return saturating_product(
        {n, covered({h, window.height, window.stride_h, window.pad_h, window.dilation_h, p}),
         covered({w, window.width, window.stride_w, window.pad_w, window.dilation_w, q}), c});
  }
  int64_t y_size() const { return saturating_product({n, p, q, c}); }
  double area() const { return static_cast<double>(window.height) * static_cast<double>(window.width); }

  // Calls visit(index in x) for the elements of the image in the window of y's element, row by row.
  template <class Visit>
  void visit_window(int64_t image, int64_t row, int64_t col, int64_t channel, const Visit& visit) const {
    const int64_t top = row * window.stride_h - window.pad_h, left = col * window.stride_w - window.pad_w;
    for (int64_t r = 0; r < window.height; ++r)
      for (int64_t t = 0; t < window.width; ++t) {
        const int64_t i = top + r * window.dilation_h, j = left + t * window.dilation_w;
        if (i >= 0 && i < h && j >= 0 && j < w) visit(((image * h + i) * w + j) * c + channel);
      }
  }
  // The index in x of the first maximum of a window.
  template <class T>
  int64_t first_maximum(const T* x, int64_t image, int64_t row, int64_t col, int64_t channel) const {
    int64_t first = -1;
    visit_window(image, row, col, channel, [&](int64_t at) {
      if (first < 0 || static_cast<float>(x[at]) > static_cast<float>(x[first])) first = at;
    });
    return first;
  }
  // How many elements of a window are its maximum.
  template <class T>
  int64_t maxima(const T* x, int64_t image, int64_t row, int64_t col, int64_t channel) const {
    const int64_t first = first_maximum(x, image, row, col, channel);
    int64_t count = 0;
    visit_window(image, row, col, channel, [&](int64_t at) {
      if (static_cast<float>(x[at]) == static_cast<float>(x[first])) ++count;
    });
    return count;
  }
  // Calls visit(row, column) for the windows that contain row i and column j of the image.
  template <class Visit>
  void visit_windows_of(int64_t i, int64_t j, const Visit& visit) const {
    const auto covers = [](int64_t at, int64_t begin, int64_t elements, int64_t dilation) {
      return at >= begin && (at - begin) % dilation == 0 && (at - begin) / dilation < elements;
    };
    for (int64_t row = 0; row < p; ++row) {
      if (!covers(i, row * window.stride_h - window.pad_h, window.height, window.dilation_h)) continue;
      for (int64_t col = 0; col < q; ++col)
        if (covers(j, col * window.stride_w - window.pad_w, window.width, window.dilation_w)) visit(row, col);
    }
  }
};

PoolShape pool_shape(const OperatorRequest& request) {
  const Shape& s = request.shape;
  const bool average = request.kind == "avg";
  const int64_t window = s["window"], pad = s["pad"], stride = s["stride"] == 0 ? window : s["stride"],
                dilation = average ? 1 : s["dilation"];
  const PoolWindow of_call = {.height = window,
                              .width = window,
                              .stride_h = stride,
                              .stride_w = stride,
                              .pad_h = pad,
                              .pad_w = pad,
                              .dilation_h = dilation,
                              .dilation_w = dilation};
  const std::string dilated = dilation > 1 ? concat(" and dilation ", dilation) : "";
  if (const int64_t most = saturating_product({window - 1, dilation}); pad > most)
    throw Error(
        bad_argument("pad is ", pad, ", must be at most ", most, " with windows of ", window, dilated));
  const int64_t p = pooled_height(s["h"], of_call), q = pooled_width(s["w"], of_call);
  const int64_t least_side = std::min(s["h"], s["w"]);
  const bool fits = saturating_product({window - 1, dilation}) < least_side + 2 * pad;
  if ((p == 0 || q == 0) && fits && pad > 0 && dilation > least_side)
    throw Error(bad_argument("dilation is ", dilation, ", must be at most the sides of the image, ", s["h"],
                             " x ", s["w"], ", with padding"));
  if (p == 0 || q == 0)
    throw Error(bad_argument("windows of ", window, dilated, " do not fit the padded image of ",
                             s["h"] + 2 * pad, " x ", s["w"] + 2 * pad));
  return {s["n"], s["h"], s["w"], s["c"], p, q, of_call};
}

std::string pool_text(const OperatorRequest& request, const PoolShape& s) {
  const PoolWindow& w = s.window;
  return concat(request.kind == "avg" ? "average" : "max", " pooling of ", counted(s.n, "image"), " of ", s.h,
                " x ", s.w, " x ", s.c, ", windows of ", w.height, " x ", w.width,
                w.stride_h == w.height ? "" : concat(", stride ", w.stride_h),
                w.pad_h == 0 ? "" : concat(", padding ", w.pad_h),
                w.dilation_h == 1 ? "" : concat(", dilation ", w.dilation_h),
                request.kind == "max_indices" ? ", with indices" : "", type_suffix(request.type));
}

template <class T>
OperatorCall pool_forward(const PoolShape& s, bool average) {
  OperatorCall call;
  const auto x = call.operands.input<T>(s.x_size());
  call.operands.reads_only(x, s.covered_size());
  const auto y = call.operands.result<T>(s.y_size());
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const ImageView<T> to = {o[y], s.n, s.p, s.q, s.c};
    const ImageView<const T> from = {o[x], s.n, s.h, s.w, s.c};
    return average ? avg_pool(to, from, s.window, AverageOver::window, stream)
                   : max_pool(to, from, s.window, stream);
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
OperatorCall pool_gradient(const PoolShape& s, bool average, bool any_maximum) {
  OperatorCall call;
  OperandList& list = call.operands;
  const auto dy = list.input<T>(s.y_size());
  const auto x = list.input<T>(average ? 0 : s.x_size()), y = list.input<T>(average ? 0 : s.y_size());
  const auto dx = list.result<T>(s.x_size());
  if (!average) list.reads_only(x, s.covered_size());
  const auto x_view = [=](const Operands& o, auto id) { return ImageView<T>{o[id], s.n, s.h, s.w, s.c}; };
  const auto y_view = [=](const Operands& o, auto id) { return ImageView<T>{o[id], s.n, s.p, s.q, s.c}; };
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return average ? avg_pool_backward(x_view(o, dx), y_view(o, dy), s.window, AverageOver::window, stream)
                   : max_pool_backward(x_view(o, dx), y_view(o, dy), y_view(o, y), x_view(o, x), s.window,
                                       stream);
  };
  if (!average)
    call.prepare = [=](const Operands& o, cudaStream_t stream) {
      return max_pool(y_view(o, y), x_view(o, x), s.window, stream);
    };
  call.is_right = [=](const HostOperands& host) {
    return check_some(s.x_size(), [&](int64_t i) {
      const int64_t channel = i % s.c, col = i / s.c % s.w, row = i / s.c / s.w % s.h,
                    image = i / s.c / s.w / s.h;
      double sum = 0, magnitude = 0;
      bool skipped = false;  // which of equal maxima receives the gradient is open
      s.visit_windows_of(row, col, [&](int64_t p, int64_t q) {
        // The first maximum of the window receives its gradient.
        const T* const from = host.after(x);
        if (!average && any_maximum && s.maxima(from, image, p, q, channel) > 1) skipped = true;
        if (!average && s.first_maximum(from, image, p, q, channel) != i) return;
        const double value =
            static_cast<float>(host.after(dy)[((image * s.p + p) * s.q + q) * s.c + channel]);
        sum += value, magnitude += std::abs(value);
      });
      const double size = average ? s.area() : 1;
      return skipped || is_close(host.after(dx)[i], sum / size, magnitude / size);
    });
  };
  return call;
}

// Max pooling that keeps the indices of the maxima, what its gradient and unpooling do with them, and the
// gradient of unpooling.
template <class T>
OperatorCall pool_with_indices(const PoolShape& s, const std::string& pass) {
  OperatorCall call;
  OperandList& list = call.operands;
  const bool forward = pass == "forward", to_image = pass == "backward" || pass == "unpool";
  const auto image =
      list.add<T>(s.x_size(), to_image ? Role::result : Role::input, to_image ? Fill::nothing : Fill::normal);
  const auto pooled =
      list.add<T>(s.y_size(), to_image ? Role::input : Role::result, to_image ? Fill::normal : Fill::nothing);
  if (forward) list.reads_only(image, s.covered_size());
  if (pass == "unpool_backward") list.reads_only(image, std::min(s.x_size(), s.y_size()));
  const auto indices = list.add<int32_t>(s.y_size(), forward ? Role::result : Role::input);
  // What the indices of the other passes come from. With independent values, the maxima of neighbouring
  // channels would be at different places, and unpool_backward would read more sectors.
  const auto x = list.add<T>(forward ? 0 : s.x_size(), Role::scratch, Fill::ramp);
  const auto y = list.add<T>(forward ? 0 : s.y_size(), Role::scratch);
  const auto image_view = [=](const Operands& o, auto id) { return ImageView<T>{o[id], s.n, s.h, s.w, s.c}; };
  const auto pooled_view = [=](auto* data) {
    return ImageView<std::remove_pointer_t<decltype(data)>>{data, s.n, s.p, s.q, s.c};
  };
  const auto with_indices = [=](const Operands& o, auto to, auto from, cudaStream_t stream) {
    return max_pool_with_indices(pooled_view(o[to]), pooled_view(o[indices]), image_view(o, from), s.window,
                                 stream);
  };
  if (!forward)
    call.prepare = [=](const Operands& o, cudaStream_t stream) { return with_indices(o, y, x, stream); };
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const ImageView<T> of_image = image_view(o, image), of_windows = pooled_view(o[pooled]);
    const ImageView<int32_t> at = pooled_view(o[indices]);
    if (pass == "forward") return with_indices(o, pooled, image, stream);
    if (pass == "backward") return max_pool_with_indices_backward(of_image, of_windows, at, s.window, stream);
    if (pass == "unpool") return max_unpool(of_image, of_windows, at, s.window, stream);
    return max_unpool_backward(of_windows, of_image, at, s.window, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    const auto source = [&](int64_t i) {  // the index in the images of window i
      return (i / s.c / s.q / s.p * s.h * s.w + host.after(indices)[i]) * s.c + i % s.c;
    };
    // Calls visit(window) for the windows whose maximum is element i of the images.
    const auto visit_sources = [&](int64_t i, const auto& visit) {
      s.visit_windows_of(i / s.c / s.w % s.h, i / s.c % s.w, [&](int64_t row, int64_t col) {
        const int64_t at = ((i / s.c / s.w / s.h * s.p + row) * s.q + col) * s.c + i % s.c;
        if (source(at) == i) visit(at);
      });
    };
    const auto of_image = [&](int64_t i) {
      return static_cast<double>(static_cast<float>(host.after(image)[i]));
    };
    const auto of_window = [&](int64_t i) {
      return static_cast<double>(static_cast<float>(host.after(pooled)[i]));
    };
    if (forward)
      return check_some(s.y_size(), [&](int64_t i) {
        const int64_t first = s.first_maximum(host.after(image), i / s.c / s.q / s.p, i / s.c / s.q % s.p,
                                              i / s.c % s.q, i % s.c);
        return source(i) == first && of_window(i) == of_image(first);
      });
    if (pass == "backward")
      return check_some(s.x_size(), [&](int64_t i) {
        double sum = 0, magnitude = 0;
        visit_sources(i, [&](int64_t at) { sum += of_window(at), magnitude += std::abs(of_window(at)); });
        return is_close(host.after(image)[i], sum, magnitude);
      });
    // Of several windows with the same maximum the last one counts.
    if (pass == "unpool")
      return check_some(s.x_size(), [&](int64_t i) {
        double last = 0;
        visit_sources(i, [&](int64_t at) { last = of_window(at); });
        return of_image(i) == last;
      });
    return check_some(s.y_size(), [&](int64_t i) {
      int64_t last = -1;
      visit_sources(source(i), [&](int64_t at) { last = at; });
      return of_window(i) == (last == i ? of_image(source(i)) : 0);
    });
  };
  return call;
}

OperatorCall make_pool(const OperatorRequest& request) {
  const PoolShape shape = pool_shape(request);
  const bool average = request.kind == "avg";
  OperatorCall call = with_type(request.type, [&]<class T>() {
    if (request.kind == "max_indices") return pool_with_indices<T>(shape, request.pass);
    return request.pass == "backward" ? pool_gradient<T>(shape, average, request.any_maximum)
                                      : pool_forward<T>(shape, average);
  });
  call.name = pool_text(request, shape);
  return call;
}

}  // namespace

Operator pool_operator() {
  const std::vector<Dimension> average = {{"n", "images", 32},
                                          {"h", "height of an image", 28},
                                          {"w", "width of an image", 28},
                                          {"c", "channels of an image", 64},
                                          {"window", "height and width of a window", 2},
                                          {"stride", "stride; 0: the window", 0, 0},
                                          {"pad", "padding", 0, 0}};
  std::vector<Dimension> maximum = average;
  maximum.push_back({"dilation", "distance of a window's rows and columns", 1});
  const std::vector<std::string> passes = {"forward", "backward"};
  std::vector<Dimension> adaptive = {average.begin(), average.begin() + 4};
  adaptive.insert(adaptive.end(), {{"p", "height of the result", 7}, {"q", "width of the result", 7}});
  return {"pool",
          "Pooling of NHWC images, and its gradient",
          {{"avg", average, passes, make_pool},
           {"max", maximum, passes, make_pool},
           {"max_indices", maximum, {"forward", "backward", "unpool", "unpool_backward"}, make_pool},
           {"adaptive_avg", adaptive, passes, make_adaptive_pool},
           {"adaptive_max", adaptive, passes, make_adaptive_pool}}};
}

}  // namespace rondo::bench
