// A convolution for the benchmarks: its tensors of N(0, 1) values, the three operations, and a check.
#pragma once

#include <rondo/bench/ladder/product.h>
#include <rondo/bench/operators/conv_sample.h>
#include <rondo/bench/support/bench.h>
#include <rondo/kernels/conv/conv2d.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rondo::bench {

// The tensors, of type T.
template <class T>
struct ConvTensors {
  explicit ConvTensors(const ConvLayer& layer)
      : x(normal_buffer<T>(layer.x_size(), 1)),
        y(normal_buffer<T>(layer.y_size(), 2)),
        filter(normal_buffer<T>(layer.filter_size(), 3)) {}
  Buffer<T>& result(ConvOp op) {
    return op == ConvOp::forward ? y : op == ConvOp::data_gradient ? x : filter;
  }

  static std::vector<float> as_floats(const Buffer<T>& buffer) {
    const std::vector<T> values = buffer.download();
    return {values.begin(), values.end()};
  }
  Work work(const ConvLayer& layer) const {
    return {.flops = layer.flops(), .bytes = static_cast<double>(x.bytes() + y.bytes() + filter.bytes())};
  }

  Buffer<T> x, y, filter;
};

// Rondo's convolution. With 16-bit tensors its filter gradient is float.
template <class T>
struct Convolution : ConvTensors<T> {
  ConvLayer layer;
  Conv2dOptions options;
  bool with_bias;  // the filter gradient also computes that of the bias
  Buffer<float> filter_gradient, bias_gradient;
  Buffer<unsigned char> scratch;

  Convolution(const ConvLayer& in_layer, ConvAlgorithm algorithm, Math math, bool has_bias = false)
      : ConvTensors<T>(in_layer),
        layer(in_layer),
        options{layer.stride, layer.stride, layer.pad, layer.pad, algorithm, math},
        with_bias(has_bias),
        filter_gradient(layer.filter_size()),
        bias_gradient(layer.k),
        scratch(workspace_bytes()) {}

  int64_t workspace_bytes() const {
    const Conv2dWorkspaceBytes bytes =
        conv2d_workspace_bytes({nullptr, layer.n, layer.h, layer.w, layer.c},
                               {nullptr, layer.k, layer.r, layer.s, layer.c}, options, dtype_of<T>);
    return std::max({bytes.forward, bytes.data_gradient, bytes.filter_gradient_bias});
  }

  Status run(ConvOp op, cudaStream_t stream) {
    const ConvLayer& l = layer;
    const ImageView<T> x = {this->x.data(), l.n, l.h, l.w, l.c}, y = {this->y.data(), l.n, l.p(), l.q(), l.k};
    const FilterView<T> filter = {this->filter.data(), l.k, l.r, l.s, l.c};
    const FilterView<float> dw = {filter_gradient.data(), l.k, l.r, l.s, l.c};
    const Workspace workspace = {scratch.data(), scratch.bytes()};
    switch (op) {
      case ConvOp::forward:
        return conv2d_forward(y, x, filter, options, {}, workspace, stream);
      case ConvOp::data_gradient:
        return conv2d_data_gradient(x, y, filter, options, {}, workspace, stream);
      case ConvOp::filter_gradient:
        return conv2d_filter_gradient(
            dw, y, x, options,
            {.bias_gradient = with_bias ? VectorView<float>{bias_gradient.data(), l.k} : VectorView<float>()},
            workspace, stream);
    }
    return bad_argument("no such operation");
  }

  // Runs `op` once, over NaN. `rounding`: the unit roundoff of the factors, or of a result of 16 bits.
  bool is_right(ConvOp op, double rounding) {
    this->result(op).fill_bytes(0xff);
    filter_gradient.fill_bytes(0xff), bias_gradient.fill_bytes(0xff);
    run_once([&](cudaStream_t stream) { return run(op, stream); });
    if (op == ConvOp::filter_gradient && with_bias && !bias_is_right()) return false;
    return is_convolution(
        layer, op, Channels::last, this->as_floats(this->x), this->as_floats(this->y),
        op == ConvOp::filter_gradient ? filter_gradient.download() : this->as_floats(this->filter), rounding);
  }
  bool bias_is_right() const {
    const std::vector<float> dy = this->as_floats(this->y), got = bias_gradient.download();
    std::vector<double> sums(got.size()), magnitudes(got.size());
    for (size_t i = 0; i < dy.size(); ++i) {
      sums[i % got.size()] += double{dy[i]};
      magnitudes[i % got.size()] += std::abs(double{dy[i]});
    }
    for (size_t k = 0; k < got.size(); ++k)
      if (!(std::abs(double{got[k]} - sums[k]) <= 0x1p-15 * magnitudes[k])) return false;
    return true;
  }
};

}  // namespace rondo::bench
