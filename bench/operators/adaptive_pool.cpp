// Adaptive pooling: the kinds adaptive_avg and adaptive_max of the operator pool.
#include <rondo/bench/operators/pool.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/pool/adaptive_pool.h>

#include <limits>

namespace rondo::bench {
namespace {

struct AdaptiveShape {
  int64_t n, h, w, c, p, q;

  int64_t x_size() const { return saturating_product({n, h, w, c}); }
  int64_t y_size() const { return saturating_product({n, p, q, c}); }
  // The number of elements in window i, j.
  double area(int64_t i, int64_t j) const {
    return static_cast<double>((end(i, h, p) - begin(i, h, p)) * (end(j, w, q) - begin(j, w, q)));
  }
  // Calls visit(index in x, position in the image) for the elements of the window of y's element.
  template <class Visit>
  void visit_window(int64_t element, const Visit& visit) const {
    const int64_t i = element / c / q % p, j = element / c % q, image = element / c / q / p;
    for (int64_t row = begin(i, h, p); row < end(i, h, p); ++row)
      for (int64_t col = begin(j, w, q); col < end(j, w, q); ++col)
        visit(((image * h + row) * w + col) * c + element % c, row * w + col);
  }
  // Calls visit(index in y, area of the window) for the windows that contain x's element.
  template <class Visit>
  void visit_windows_of(int64_t element, const Visit& visit) const {
    const int64_t row = element / c / w % h, col = element / c % w, image = element / c / w / h;
    for (int64_t i = 0; i < p; ++i)
      for (int64_t j = 0; j < q; ++j)
        if (row >= begin(i, h, p) && row < end(i, h, p) && col >= begin(j, w, q) && col < end(j, w, q))
          visit(((image * p + i) * q + j) * c + element % c, area(i, j));
  }

 private:
  static int64_t begin(int64_t window, int64_t size, int64_t windows) { return window * size / windows; }
  static int64_t end(int64_t window, int64_t size, int64_t windows) {
    return ((window + 1) * size + windows - 1) / windows;
  }
};

template <class T>
OperatorCall forward_call(const AdaptiveShape& s, bool average) {
  OperatorCall call;
  const auto x = call.operands.input<T>(s.x_size());
  const auto y = call.operands.result<T>(s.y_size());
  const auto indices = call.operands.result<int32_t>(average ? 0 : s.y_size());
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const ImageView<T> to = {o[y], s.n, s.p, s.q, s.c};
    const ImageView<const T> from = {o[x], s.n, s.h, s.w, s.c};
    if (average) return adaptive_avg_pool(to, from, stream);
    return adaptive_max_pool(to, {o[indices], s.n, s.p, s.q, s.c}, from, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(s.y_size(), [&](int64_t element) {
      double sum = 0, magnitude = 0, most = -std::numeric_limits<double>::infinity(), count = 0;
      int64_t at_most = -1;
      s.visit_window(element, [&](int64_t at, int64_t position) {
        const double value = value_at(host.after(x), at);
        sum += value, magnitude += std::abs(value), ++count;
        if (value > most) most = value, at_most = position;
      });
      if (average) return is_close(host.after(y)[element], sum / count, magnitude / count);
      return value_at(host.after(y), element) == most && host.after(indices)[element] == at_most;
    });
  };
  return call;
}

template <class T>
OperatorCall backward_call(const AdaptiveShape& s, bool average) {
  OperatorCall call;
  OperandList& list = call.operands;
  const auto dy = list.input<T>(s.y_size());
  const auto indices = list.add<int32_t>(average ? 0 : s.y_size(), Role::input);
  const auto dx = list.result<T>(s.x_size());
  const auto x = list.add<T>(average ? 0 : s.x_size(), Role::scratch, Fill::ramp);  // of the indices
  const auto y = list.add<T>(average ? 0 : s.y_size(), Role::scratch);
  const auto windows = [=](auto* data) {
    return ImageView<std::remove_pointer_t<decltype(data)>>{data, s.n, s.p, s.q, s.c};
  };
  if (!average)
    call.prepare = [=](const Operands& o, cudaStream_t stream) {
      return adaptive_max_pool<T>(windows(o[y]), windows(o[indices]), {o[x], s.n, s.h, s.w, s.c}, stream);
    };
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const ImageView<T> to = {o[dx], s.n, s.h, s.w, s.c};
    if (average) return adaptive_avg_pool_backward<T>(to, windows(o[dy]), stream);
    return adaptive_max_pool_backward<T>(to, windows(o[dy]), windows(o[indices]), stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(s.x_size(), [&](int64_t element) {
      const int64_t position = element / s.c % (s.h * s.w);
      double sum = 0, magnitude = 0;
      s.visit_windows_of(element, [&](int64_t window, double area) {
        if (!average && host.after(indices)[window] != position) return;
        const double value = value_at(host.after(dy), window) / (average ? area : 1);
        sum += value, magnitude += std::abs(value);
      });
      return is_close(host.after(dx)[element], sum, magnitude);
    });
  };
  return call;
}

}  // namespace

OperatorCall make_adaptive_pool(const OperatorRequest& request) {
  const Shape& s = request.shape;
  const AdaptiveShape shape = {s["n"], s["h"], s["w"], s["c"], s["p"], s["q"]};
  constexpr int64_t kMostSide = 65535;
  for (const char* const side : {"h", "w", "p", "q"})
    if (s[side] > kMostSide)
      throw Error(bad_argument(side, " is ", s[side], ", must be at most ", kMostSide));
  const bool average = request.kind == "adaptive_avg";
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return request.pass == "backward" ? backward_call<T>(shape, average) : forward_call<T>(shape, average);
  });
  call.name = concat("adaptive ", average ? "average" : "max", " pooling of ", counted(shape.n, "image"),
                     " of ", shape.h, " x ", shape.w, " x ", shape.c, " to ", shape.p, " x ", shape.q,
                     type_suffix(request.type));
  return call;
}

}  // namespace rondo::bench
