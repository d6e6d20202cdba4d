#include <rondo/nn/layers/norm.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/layer_norm.h>

#include <algorithm>

namespace rondo::nn {

namespace {

// A normalisation that saves one or two statistics for each of `rows` parts of a sample.
class NormOp : public Op {
 public:
  NormOp(std::string description, Shape shape, int64_t rows, int statistics, float eps)
      : shape_(shape),
        eps_(eps),
        description_(std::move(description)),
        rows_(rows),
        statistics_(statistics) {}

  std::string description() const override { return description_; }
  double flops() const override { return 6.0 * static_cast<double>(shape_.size()); }
  Saves saves() const override { return {.inputs = true}; }
  int64_t saved_floats() const override { return statistics_ * rows_; }

 protected:
  VectorView<float> statistic(const OpContext& context, int which) const {
    return {context.saved + which * context.batch * rows_, context.batch * rows_};
  }
  // Where backward writes the gradient of x: over dy if nothing reads it.
  static const Tensor& input_gradient(const OpContext& context) {
    const Tensor& dx = context.input_gradients[0];
    return dx.data ? dx : context.output_gradient;
  }
  // Parameter number i or its gradient.
  VectorView<float> channels(std::span<float* const> tensors, size_t i) const {
    return optional_vector(tensors, i, shape_.channels);
  }

  Shape shape_;
  float eps_;

 private:
  std::string description_;
  int64_t rows_;
  int statistics_;
};

// Of the channels of each position.
class RowNormOp : public NormOp {
 public:
  RowNormOp(const char* name, Shape shape, int statistics, float eps)
      : NormOp(name, shape, shape.height * shape.width, statistics, eps) {}

  int64_t workspace_bytes(int64_t batch) const override {
    const int64_t rows = batch * shape_.height * shape_.width;
    return std::max(layer_norm_workspace_bytes(rows, shape_.channels),
                    layer_norm_backward_workspace_bytes(rows, shape_.channels));
  }
};

class LayerNormOp : public RowNormOp {
 public:
  LayerNormOp(Shape shape, float eps) : RowNormOp("layer norm", shape, 2, eps) {}
  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      return layer_norm(context.output.pixels<T>(), statistic(context, 0), statistic(context, 1),
                        context.inputs[0].pixels<T>(), channels(context.parameters, 0),
                        channels(context.parameters, 1), eps_, context.workspace, context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    return with_element_type(context.output_gradient.type, [&]<class T>(T) {
      const LayerNormSavedOf<T> saved = {context.inputs[0].pixels<T>(), statistic(context, 0),
                                         statistic(context, 1)};
      return layer_norm_backward(
          input_gradient(context).pixels<T>(), channels(context.parameter_gradients, 0),
          channels(context.parameter_gradients, 1), context.output_gradient.pixels<T>(), saved,
          channels(context.parameters, 0), context.workspace, context.stream);
    });
  }
};

class RmsNormOp : public RowNormOp {
 public:
  RmsNormOp(Shape shape, float eps) : RowNormOp("RMS norm", shape, 1, eps) {}
  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      return rms_norm(context.output.pixels<T>(), statistic(context, 0), context.inputs[0].pixels<T>(),
                      channels(context.parameters, 0), eps_, context.workspace, context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    return with_element_type(context.output_gradient.type, [&]<class T>(T) {
      const RmsNormSavedOf<T> saved = {context.inputs[0].pixels<T>(), statistic(context, 0)};
      return rms_norm_backward(input_gradient(context).pixels<T>(), channels(context.parameter_gradients, 0),
                               context.output_gradient.pixels<T>(), saved, channels(context.parameters, 0),
                               context.workspace, context.stream);
    });
  }
};

class GroupNormOp : public NormOp {
 public:
  GroupNormOp(Shape shape, int64_t groups, float eps)
      : NormOp(concat("group norm of ", counted(groups, "group")), shape, groups, 2, eps), groups_(groups) {}

  int64_t workspace_bytes(int64_t batch) const override {
    const int64_t pixels = shape_.height * shape_.width;
    return std::max(group_norm_workspace_bytes(batch, pixels, shape_.channels),
                    group_norm_backward_workspace_bytes(batch, pixels, shape_.channels, groups_));
  }
  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      return group_norm(context.output.image<T>(), statistic(context, 0), statistic(context, 1),
                        context.inputs[0].image<T>(), channels(context.parameters, 0),
                        channels(context.parameters, 1), groups_, eps_, context.workspace, context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    return with_element_type(context.output_gradient.type, [&]<class T>(T) {
      const GroupNormSavedOf<T> saved = {context.inputs[0].image<T>(), statistic(context, 0),
                                         statistic(context, 1)};
      return group_norm_backward(input_gradient(context).image<T>(), channels(context.parameter_gradients, 0),
                                 channels(context.parameter_gradients, 1), context.output_gradient.image<T>(),
                                 saved, channels(context.parameters, 0), groups_, context.workspace,
                                 context.stream);
    });
  }

 private:
  int64_t groups_;
};

void check_eps(const char* name, float eps) {
  if (!(eps >= 0 && eps < 1)) throw Error(bad_argument(name, ": eps is ", eps, ", must be in [0, 1)"));
}

// Gamma, and with a bias beta.
std::vector<int> affine_parameters(Graph& graph, int64_t channels, bool affine, bool bias) {
  std::vector<int> parameters;
  if (affine) parameters.push_back(graph.parameter("weight", {channels}, Init::ones()));
  if (affine && bias) parameters.push_back(graph.parameter("bias", {channels}, Init::zeros()));
  return parameters;
}

}  // namespace

Value LayerNorm::build(Graph& graph, Value x) const {
  check_eps("LayerNorm", options_.eps);
  const std::vector<int> parameters = affine_parameters(graph, x.shape.channels, options_.affine, true);
  return graph.add(std::make_unique<LayerNormOp>(x.shape, options_.eps), {x}, x.shape, parameters);
}

Value RMSNorm::build(Graph& graph, Value x) const {
  check_eps("RMSNorm", options_.eps);
  const std::vector<int> parameters = affine_parameters(graph, x.shape.channels, options_.affine, false);
  return graph.add(std::make_unique<RmsNormOp>(x.shape, options_.eps), {x}, x.shape, parameters);
}

Value GroupNorm::build(Graph& graph, Value x) const {
  check_eps("GroupNorm", options_.eps);
  if (groups_ < 1 || x.shape.channels % groups_ != 0)
    throw Error(bad_argument("GroupNorm: the input has ", counted(x.shape.channels, "channel"),
                             ", which must be a multiple of the groups, which are ", groups_));
  const std::vector<int> parameters = affine_parameters(graph, x.shape.channels, options_.affine, true);
  return graph.add(std::make_unique<GroupNormOp>(x.shape, groups_, options_.eps), {x}, x.shape, parameters);
}

}  // namespace rondo::nn
