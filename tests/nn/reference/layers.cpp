#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/kernels/reference/conv_transpose_reference.h>
#include <rondo/tests/nn/reference/layers.h>

#include <algorithm>
#include <cmath>

namespace rondo::test {

namespace {

using Tensors = ReferenceLayer::Tensors;

void rectify(Doubles& y) {
  for (double& value : y) value = std::max(value, 0.0);
}

// dy where y > 0, otherwise 0.
Doubles masked(const Doubles& dy, const Doubles& y, bool relu) {
  Doubles g = dy;
  for (size_t i = 0; relu && i < g.size(); ++i)
    if (!(y[i] > 0)) g[i] = 0;
  return g;
}

Doubles column_sums(const Doubles& g, size_t columns) {
  Doubles sums(columns);
  for (size_t i = 0; i < g.size(); ++i) sums[i % columns] += g[i];
  return sums;
}

class Conv : public ReferenceLayer {
 public:
  Conv(nn::Shape in, const ReferenceConv& conv) : in_(in), conv_(conv) {
    const ConvCase one = terms(1);
    output = {one.p(), one.q(), conv.channels};
    parameter_sizes = {one.filter_size()};
    if (conv.bias) parameter_sizes.push_back(conv.channels);
  }
  bool rectified() const override { return conv_.relu; }

  Doubles forward(int64_t batch, Tensors x, std::span<const Doubles> p) const override {
    Doubles y = conv2d_sums(terms(batch), *x[0], p[0]);
    if (conv_.bias)
      for (size_t i = 0; i < y.size(); ++i) y[i] += p[1][i % p[1].size()];
    if (conv_.relu) rectify(y);
    return y;
  }
  ReferenceGradients backward(int64_t batch, Tensors x, const Doubles& y, const Doubles& dy,
                              std::span<const Doubles> p) const override {
    const Doubles g = masked(dy, y, conv_.relu);
    ReferenceGradients gradients = {{conv2d_data_gradient_sums(terms(batch), g, p[0])},
                                    {conv2d_filter_gradient_sums(terms(batch), g, *x[0])}};
    if (conv_.bias) gradients.parameters.push_back(column_sums(g, p[1].size()));
    return gradients;
  }

 private:
  ConvCase terms(int64_t batch) const {
    ConvCase conv = {batch, in_.height, in_.width, in_.channels, conv_.channels, conv_.filter, conv_.filter};
    conv.options.stride_h = conv.options.stride_w = conv_.stride;
    conv.options.pad_h = conv.options.pad_w = conv_.padding;
    conv.options.groups = conv_.groups;
    conv.options.pad_bottom = conv_.pad_bottom;
    conv.options.pad_right = conv_.pad_right;
    return conv;
  }
  nn::Shape in_;
  ReferenceConv conv_;
};

class ConvTranspose : public ReferenceLayer {
 public:
  ConvTranspose(nn::Shape in, const ReferenceConvTranspose& conv) : in_(in), conv_(conv) {
    const TransposedCase one = terms(1);
    output = {one.h.outputs(), one.w.outputs(), conv.channels};
    parameter_sizes = {one.filter_size(), conv.channels};
  }
  bool rectified() const override { return conv_.relu; }

  Doubles forward(int64_t batch, Tensors x, std::span<const Doubles> p) const override {
    Doubles y = transposed_sums(terms(batch), *x[0], p[0]);
    for (size_t i = 0; i < y.size(); ++i) y[i] += p[1][i % p[1].size()];
    if (conv_.relu) rectify(y);
    return y;
  }
  ReferenceGradients backward(int64_t batch, Tensors x, const Doubles& y, const Doubles& dy,
                              std::span<const Doubles> p) const override {
    const Doubles g = masked(dy, y, conv_.relu);
    return {{transposed_data_gradient(terms(batch), g, p[0])},
            {transposed_filter_gradient(terms(batch), g, *x[0]), column_sums(g, p[1].size())}};
  }

 private:
  TransposedCase terms(int64_t batch) const {
    const auto axis = [&](int64_t size) {
      return TransposedAxis{size,          conv_.filter,   conv_.stride,        conv_.padding,
                            conv_.padding, conv_.dilation, conv_.output_padding};
    };
    return {batch, in_.channels, conv_.channels, axis(in_.height), axis(in_.width), conv_.groups};
  }
  nn::Shape in_;
  ReferenceConvTranspose conv_;
};

class BatchNorm : public ReferenceLayer {
 public:
  BatchNorm(nn::Shape in, bool relu) : relu_(relu) {
    output = in;
    parameter_sizes = {in.channels, in.channels};
  }
  bool rectified() const override { return relu_; }

  Doubles forward(int64_t, Tensors x, std::span<const Doubles> p) const override {
    Doubles y = normalised(*x[0]);
    for (size_t i = 0; i < y.size(); ++i) y[i] = p[0][i % channels()] * y[i] + p[1][i % channels()];
    if (relu_) rectify(y);
    return y;
  }
  // With n rows and xhat = (x - mean) * d: dx = gamma * d * (g - mean of g - xhat * mean of (g * xhat)).
  ReferenceGradients backward(int64_t, Tensors x, const Doubles& y, const Doubles& dy,
                              std::span<const Doubles> p) const override {
    const Doubles g = masked(dy, y, relu_), xhat = normalised(*x[0]);
    const ReferenceStatistics statistics = batch_statistics(*x[0], output.channels);
    Doubles products = g;
    for (size_t i = 0; i < g.size(); ++i) products[i] *= xhat[i];
    const Doubles dbeta = column_sums(g, channels()), dgamma = column_sums(products, channels());
    const double rows = static_cast<double>(g.size()) / static_cast<double>(channels());
    Doubles dx(g.size());
    for (size_t i = 0; i < g.size(); ++i) {
      const size_t c = i % channels();
      dx[i] = p[0][c] / std::sqrt(statistics.variance[c] + kEps) *
              (g[i] - dbeta[c] / rows - xhat[i] * dgamma[c] / rows);
    }
    return {{dx}, {dgamma, dbeta}};
  }

 private:
  static constexpr double kEps = 1e-5f;  // a float, as in the layer's options

  size_t channels() const { return static_cast<size_t>(output.channels); }
  Doubles normalised(const Doubles& x) const {
    const ReferenceStatistics statistics = batch_statistics(x, output.channels);
    Doubles xhat = x;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i % channels();
      xhat[i] = (x[i] - statistics.mean[c]) / std::sqrt(statistics.variance[c] + kEps);
    }
    return xhat;
  }
  bool relu_;
};

// Normalises sets of values of one sample, of `positions` neighbouring positions and of `channels`
// neighbouring channels each.
class SampleNorm : public ReferenceLayer {
 public:
  SampleNorm(nn::Shape in, int64_t positions, int64_t channels, bool centred)
      : positions_(positions), channels_(channels), centred_(centred) {
    output = in;
    parameter_sizes = {in.channels};
    if (centred) parameter_sizes.push_back(in.channels);
  }

  Doubles forward(int64_t, Tensors x, std::span<const Doubles> p) const override {
    Doubles y(x[0]->size());
    for_each_set(y.size(), [&](const std::vector<size_t>& set) {
      const Statistics of = statistics(*x[0], set);
      for (const size_t i : set) {
        const size_t c = i % p[0].size();
        y[i] = p[0][c] * ((*x[0])[i] - of.mean) * of.inverse + (centred_ ? p[1][c] : 0);
      }
    });
    return y;
  }
  // With xhat = (x - mean) * inverse and g = gamma * dy, over the n values of a set:
  // dx = inverse * (g - sum of g / n - xhat * sum of (g * xhat) / n), without the second term for RMS norm.
  ReferenceGradients backward(int64_t, Tensors x, const Doubles&, const Doubles& dy,
                              std::span<const Doubles> p) const override {
    Doubles dx(dy.size());
    ReferenceGradients gradients = {{}, std::vector<Doubles>(p.size(), Doubles(p[0].size()))};
    for_each_set(dy.size(), [&](const std::vector<size_t>& set) {
      const Statistics of = statistics(*x[0], set);
      const auto n = static_cast<double>(set.size());
      double sum = 0, product = 0;
      for (const size_t i : set) {
        const size_t c = i % p[0].size();
        const double xhat = ((*x[0])[i] - of.mean) * of.inverse;
        sum += p[0][c] * dy[i], product += p[0][c] * dy[i] * xhat;
        gradients.parameters[0][c] += dy[i] * xhat;
        if (centred_) gradients.parameters[1][c] += dy[i];
      }
      for (const size_t i : set) {
        const double xhat = ((*x[0])[i] - of.mean) * of.inverse;
        dx[i] = of.inverse * (p[0][i % p[0].size()] * dy[i] - (centred_ ? sum / n : 0) - xhat * product / n);
      }
    });
    gradients.inputs = {dx};
    return gradients;
  }

 private:
  struct Statistics {
    double mean = 0, inverse;
  };
  Statistics statistics(const Doubles& x, const std::vector<size_t>& set) const {
    constexpr double kEps = 1e-5f;  // a float, as in the layers' options
    const auto n = static_cast<double>(set.size());
    double mean = 0, variance = 0;
    for (const size_t i : set) mean += centred_ ? x[i] / n : 0;
    for (const size_t i : set) variance += (x[i] - mean) * (x[i] - mean) / n;
    return {mean, 1 / std::sqrt(variance + kEps)};
  }
  template <class Visit>
  void for_each_set(size_t size, Visit visit) const {
    const int64_t columns = output.channels, rows = static_cast<int64_t>(size) / columns;
    for (int64_t row = 0; row < rows; row += positions_)
      for (int64_t col = 0; col < columns; col += channels_) {
        std::vector<size_t> set;
        for (int64_t i = 0; i < positions_; ++i)
          for (int64_t c = 0; c < channels_; ++c)
            set.push_back(static_cast<size_t>((row + i) * columns + col + c));
        visit(set);
      }
  }

  int64_t positions_, channels_;
  bool centred_;
};

class Pooling : public ReferenceLayer {
 public:
  Pooling(nn::Shape in, ReferencePool kind, ReferenceWindows rows, ReferenceWindows cols)
      : in_(in), kind_(kind), rows_(std::move(rows)), cols_(std::move(cols)) {
    output = {static_cast<int64_t>(rows_.size()), static_cast<int64_t>(cols_.size()), in.channels};
  }
  Doubles forward(int64_t batch, Tensors x, std::span<const Doubles>) const override {
    Doubles y(static_cast<size_t>(batch * output.size()));
    for_each_share(batch, *x[0], [&](size_t in, size_t out, double share) { y[out] += (*x[0])[in] * share; });
    return y;
  }
  ReferenceGradients backward(int64_t batch, Tensors x, const Doubles&, const Doubles& dy,
                              std::span<const Doubles>) const override {
    Doubles dx(x[0]->size());
    for_each_share(batch, *x[0], [&](size_t in, size_t out, double share) { dx[in] += dy[out] * share; });
    return {{dx}, {}};
  }

 private:
  // Calls visit(index in x, index in y, share of x in y) for all shares that are not 0.
  template <class Visit>
  void for_each_share(int64_t batch, const Doubles& x, Visit visit) const {
    size_t out = 0;
    for (int64_t n = 0; n < batch; ++n)
      for (const auto& rows : rows_)
        for (const auto& cols : cols_)
          for (int64_t c = 0; c < in_.channels; ++c, ++out) {
            std::vector<size_t> window;
            for (const int64_t h : rows)
              for (const int64_t w : cols)
                window.push_back(
                    static_cast<size_t>(((n * in_.height + h) * in_.width + w) * in_.channels + c));
            if (kind_ == ReferencePool::average) {
              for (const size_t in : window) visit(in, out, 1.0 / static_cast<double>(window.size()));
            } else {
              const auto less = [&](size_t a, size_t b) { return x[a] < x[b]; };
              visit(*std::max_element(window.begin(), window.end(), less), out, 1.0);
            }
          }
  }
  nn::Shape in_;
  ReferencePool kind_;
  ReferenceWindows rows_, cols_;
};

class Linear : public ReferenceLayer {
 public:
  Linear(int64_t inputs, int64_t outputs, bool relu)
      : inputs_(static_cast<size_t>(inputs)), outputs_(static_cast<size_t>(outputs)), relu_(relu) {
    output = {1, 1, outputs};
    parameter_sizes = {inputs * outputs, outputs};
  }
  bool rectified() const override { return relu_; }

  Doubles forward(int64_t batch, Tensors x, std::span<const Doubles> p) const override {
    Doubles y;
    for (int64_t n = 0; n < batch; ++n) y.insert(y.end(), p[1].begin(), p[1].end());
    for_each_product(batch,
                     [&](size_t in_x, size_t in_y, size_t in_w) { y[in_y] += (*x[0])[in_x] * p[0][in_w]; });
    if (relu_) rectify(y);
    return y;
  }
  ReferenceGradients backward(int64_t batch, Tensors x, const Doubles& y, const Doubles& dy,
                              std::span<const Doubles> p) const override {
    const Doubles g = masked(dy, y, relu_);
    Doubles dx(x[0]->size()), dw(p[0].size());
    for_each_product(batch, [&](size_t in_x, size_t in_y, size_t in_w) {
      dx[in_x] += g[in_y] * p[0][in_w];
      dw[in_w] += g[in_y] * (*x[0])[in_x];
    });
    return {{dx}, {dw, column_sums(g, outputs_)}};
  }

 private:
  template <class Visit>
  void for_each_product(int64_t batch, Visit visit) const {
    for (size_t n = 0; n < static_cast<size_t>(batch); ++n)
      for (size_t i = 0; i < inputs_; ++i)
        for (size_t j = 0; j < outputs_; ++j) visit(n * inputs_ + i, n * outputs_ + j, i * outputs_ + j);
  }
  size_t inputs_, outputs_;
  bool relu_;
};

class Add : public ReferenceLayer {
 public:
  Add(nn::Shape in, bool relu) : relu_(relu) { output = in; }
  bool rectified() const override { return relu_; }
  Doubles forward(int64_t, Tensors x, std::span<const Doubles>) const override {
    Doubles y = *x[0];
    for (size_t i = 0; i < y.size(); ++i) y[i] += (*x[1])[i];
    if (relu_) rectify(y);
    return y;
  }
  ReferenceGradients backward(int64_t, Tensors, const Doubles& y, const Doubles& dy,
                              std::span<const Doubles>) const override {
    const Doubles g = masked(dy, y, relu_);
    return {{g, g}, {}};
  }

 private:
  bool relu_;
};

class PositionEmbedding : public ReferenceLayer {
 public:
  explicit PositionEmbedding(nn::Shape in) {
    output = in;
    parameter_sizes = {in.size()};
  }
  Doubles forward(int64_t, Tensors x, std::span<const Doubles> p) const override {
    Doubles y = *x[0];
    for (size_t i = 0; i < y.size(); ++i) y[i] += p[0][i % p[0].size()];
    return y;
  }
  ReferenceGradients backward(int64_t, Tensors, const Doubles&, const Doubles& dy,
                              std::span<const Doubles> p) const override {
    return {{dy}, {column_sums(dy, p[0].size())}};
  }
};

class Gelu : public ReferenceLayer {
 public:
  explicit Gelu(nn::Shape in) { output = in; }
  Doubles forward(int64_t, Tensors x, std::span<const Doubles>) const override {
    Doubles y = *x[0];
    for (double& value : y) value *= below(value);
    return y;
  }
  ReferenceGradients backward(int64_t, Tensors x, const Doubles&, const Doubles& dy,
                              std::span<const Doubles>) const override {
    Doubles dx = dy;
    for (size_t i = 0; i < dx.size(); ++i) {
      const double value = (*x[0])[i];
      dx[i] *= below(value) + value * std::exp(-value * value / 2) / std::sqrt(2 * M_PI);
    }
    return {{dx}, {}};
  }

 private:
  static double below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
};

class Softmax : public ReferenceLayer {
 public:
  Softmax(nn::Shape in, bool log) : log_(log) { output = in; }
  Doubles forward(int64_t, Tensors x, std::span<const Doubles>) const override {
    Doubles y = *x[0];
    for_each_row(y, [&](double* row) {
      double sum = 0;
      for (int64_t i = 0; i < output.channels; ++i) sum += std::exp(row[i]);
      for (int64_t i = 0; i < output.channels; ++i)
        row[i] = log_ ? row[i] - std::log(sum) : std::exp(row[i]) / sum;
    });
    return y;
  }
  // With p = softmax(x): the derivative of y[i] by x[j] is [i = j] - p[j] for the logarithm, and
  // p[i] ([i = j] - p[j]) for softmax.
  ReferenceGradients backward(int64_t, Tensors x, const Doubles&, const Doubles& dy,
                              std::span<const Doubles>) const override {
    const Doubles p = Softmax(output, false).forward(0, x, {});
    Doubles dx = dy;
    const double* p_row = p.data();
    for_each_row(dx, [&](double* row) {
      double sum = 0;
      for (int64_t i = 0; i < output.channels; ++i) sum += log_ ? row[i] : row[i] * p_row[i];
      for (int64_t j = 0; j < output.channels; ++j)
        row[j] = log_ ? row[j] - p_row[j] * sum : p_row[j] * (row[j] - sum);
      p_row += output.channels;
    });
    return {{dx}, {}};
  }

 private:
  template <class Visit>
  void for_each_row(Doubles& values, Visit visit) const {
    for (size_t i = 0; i < values.size(); i += static_cast<size_t>(output.channels)) visit(&values[i]);
  }

  bool log_;
};

class Attention : public ReferenceLayer {
 public:
  Attention(nn::Shape in, int64_t heads) : tokens_(in.height * in.width), heads_(heads) {
    output = {in.height, in.width, in.channels / 3};
  }

  Doubles forward(int64_t batch, Tensors x, std::span<const Doubles>) const override {
    Doubles y(x[0]->size() / 3);
    for_each_head(batch, [&](const Head& head) {
      const Doubles a = weights(head, *x[0]);
      for_each_term([&](int64_t t, int64_t s, int64_t i) {
        y[head.result(t, i)] += a[index(t, s)] * (*x[0])[head.part(2, s, i)];
      });
    });
    return y;
  }
  // With A = softmax(S) and y = A V, each row of dS is A (dA - sum of dA A).
  ReferenceGradients backward(int64_t batch, Tensors x, const Doubles&, const Doubles& dy,
                              std::span<const Doubles>) const override {
    Doubles dx(x[0]->size());
    for_each_head(batch, [&](const Head& head) {
      const Doubles a = weights(head, *x[0]);
      Doubles da(a.size());
      for_each_term([&](int64_t t, int64_t s, int64_t i) {
        da[index(t, s)] += dy[head.result(t, i)] * (*x[0])[head.part(2, s, i)];
        dx[head.part(2, s, i)] += a[index(t, s)] * dy[head.result(t, i)];
      });
      for (int64_t t = 0; t < tokens_; ++t) {
        double sum = 0;
        for (int64_t s = 0; s < tokens_; ++s) sum += da[index(t, s)] * a[index(t, s)];
        for (int64_t s = 0; s < tokens_; ++s) da[index(t, s)] = a[index(t, s)] * (da[index(t, s)] - sum);
      }
      for_each_term([&](int64_t t, int64_t s, int64_t i) {
        dx[head.part(0, t, i)] += scale() * da[index(t, s)] * (*x[0])[head.part(1, s, i)];
        dx[head.part(1, s, i)] += scale() * da[index(t, s)] * (*x[0])[head.part(0, t, i)];
      });
    });
    return {{dx}, {}};
  }

 private:
  // Where the values of a head of a sample are: of Q, K and V (0, 1, 2), and of the result.
  struct Head {
    int64_t first_token, channels, first_channel;
    size_t part(int64_t which, int64_t token, int64_t i) const {
      return static_cast<size_t>((first_token + token) * 3 * channels + which * channels + first_channel + i);
    }
    size_t result(int64_t token, int64_t i) const {
      return static_cast<size_t>((first_token + token) * channels + first_channel + i);
    }
  };
  int64_t width() const { return output.channels / heads_; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(width())); }
  size_t index(int64_t t, int64_t s) const { return static_cast<size_t>(t * tokens_ + s); }

  template <class Visit>
  void for_each_head(int64_t batch, Visit visit) const {
    for (int64_t n = 0; n < batch; ++n)
      for (int64_t head = 0; head < heads_; ++head) visit(Head{n * tokens_, output.channels, head * width()});
  }
  template <class Visit>
  void for_each_term(Visit visit) const {
    for (int64_t t = 0; t < tokens_; ++t)
      for (int64_t s = 0; s < tokens_; ++s)
        for (int64_t i = 0; i < width(); ++i) visit(t, s, i);
  }
  Doubles weights(const Head& head, const Doubles& x) const {
    Doubles a(static_cast<size_t>(tokens_ * tokens_));
    for_each_term([&](int64_t t, int64_t s, int64_t i) {
      a[index(t, s)] += scale() * x[head.part(0, t, i)] * x[head.part(1, s, i)];
    });
    for (int64_t t = 0; t < tokens_; ++t) {
      double sum = 0;
      for (int64_t s = 0; s < tokens_; ++s) sum += a[index(t, s)] = std::exp(a[index(t, s)]);
      for (int64_t s = 0; s < tokens_; ++s) a[index(t, s)] /= sum;
    }
    return a;
  }

  int64_t tokens_, heads_;
};

}  // namespace

ReferenceLayerPtr make_conv(nn::Shape input, const ReferenceConv& conv) {
  return std::make_unique<Conv>(input, conv);
}
ReferenceLayerPtr make_conv_transpose(nn::Shape input, const ReferenceConvTranspose& conv) {
  return std::make_unique<ConvTranspose>(input, conv);
}
ReferenceLayerPtr make_batch_norm(nn::Shape input, bool relu) {
  return std::make_unique<BatchNorm>(input, relu);
}
ReferenceLayerPtr make_layer_norm(nn::Shape input) {
  return std::make_unique<SampleNorm>(input, 1, input.channels, true);
}
ReferenceLayerPtr make_rms_norm(nn::Shape input) {
  return std::make_unique<SampleNorm>(input, 1, input.channels, false);
}
ReferenceLayerPtr make_group_norm(nn::Shape input, int64_t groups) {
  return std::make_unique<SampleNorm>(input, input.height * input.width, input.channels / groups, true);
}
ReferenceWindows fixed_windows(int64_t size, int64_t window, int64_t stride, int64_t padding,
                               int64_t dilation) {
  ReferenceWindows all;
  const int64_t last = size + padding - 1 - (window - 1) * dilation;
  for (int64_t begin = -padding; begin <= last; begin += stride) {
    all.emplace_back();
    for (int64_t at = begin; at <= begin + (window - 1) * dilation; at += dilation)
      if (at >= 0 && at < size) all.back().push_back(at);
  }
  return all;
}
ReferenceWindows adaptive_windows(int64_t size, int64_t windows) {
  ReferenceWindows all(static_cast<size_t>(windows));
  for (int64_t i = 0; i < windows; ++i)
    for (int64_t at = i * size / windows; at * windows < (i + 1) * size; ++at)
      all[static_cast<size_t>(i)].push_back(at);
  return all;
}
ReferenceLayerPtr make_pool(nn::Shape input, ReferencePool kind, const ReferenceWindows& rows,
                            const ReferenceWindows& cols) {
  return std::make_unique<Pooling>(input, kind, rows, cols);
}
ReferenceLayerPtr make_linear(int64_t inputs, int64_t outputs, bool relu) {
  return std::make_unique<Linear>(inputs, outputs, relu);
}
ReferenceLayerPtr make_add(nn::Shape input, bool relu) { return std::make_unique<Add>(input, relu); }
ReferenceLayerPtr make_position_embedding(nn::Shape input) {
  return std::make_unique<PositionEmbedding>(input);
}
ReferenceLayerPtr make_gelu(nn::Shape input) { return std::make_unique<Gelu>(input); }
ReferenceLayerPtr make_softmax(nn::Shape input, bool log) { return std::make_unique<Softmax>(input, log); }
ReferenceLayerPtr make_attention(nn::Shape input, int64_t heads) {
  return std::make_unique<Attention>(input, heads);
}

ReferenceStatistics batch_statistics(const Doubles& x, int64_t channels) {
  const auto columns = static_cast<size_t>(channels);
  const double rows = static_cast<double>(x.size()) / static_cast<double>(channels);
  ReferenceStatistics statistics = {column_sums(x, columns), Doubles(columns)};
  for (double& mean : statistics.mean) mean /= rows;
  for (size_t i = 0; i < x.size(); ++i)
    statistics.variance[i % columns] += std::pow(x[i] - statistics.mean[i % columns], 2) / rows;
  return statistics;
}

}  // namespace rondo::test
