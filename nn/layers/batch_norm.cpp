#include <rondo/nn/layers/batch_norm.h>

#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/norm/batch_norm.h>

namespace rondo::nn {

namespace {

class BatchNormOp : public Op {
 public:
  // `sums_are_given`: forward's sums are computed by the operation before.
  BatchNormOp(Shape shape, BatchNorm2d::Options options, bool sums_are_given)
      : shape_(shape), options_(options), sums_are_given_(sums_are_given) {}

  std::string description() const override { return concat("batch norm", relu_ ? ", ReLU" : ""); }
  double flops() const override { return 6.0 * static_cast<double>(shape_.size()); }
  Saves saves() const override { return {.inputs = true, .output = relu_}; }
  bool fuse_relu() override { return relu_ = true; }
  int64_t workspace_bytes(int64_t batch) const override {
    return batch_norm_workspace_bytes(batch * shape_.height * shape_.width, shape_.channels);
  }
  int64_t shared_sums() const override { return 2 * shape_.channels; }

  Status forward_sums(const OpContext& context) const override {
    if (sums_are_given_) return {};
    return with_element_type(context.output.type, [&]<class T>(T) {
      return batch_norm_sums(sums(context, 0), context.inputs[0].pixels<T>(), context.workspace,
                             context.stream);
    });
  }

  Status forward(const OpContext& context) const override {
    if (context.training && context.summed_batch == 0) return {};  // an empty batch
    const VectorView<float> mean = channels(context.states[2]), inv_std = channels(context.states[3]);
    // A recomputation reuses the batch statistics, which are already in the running statistics.
    if (context.training && !context.recompute) {
      RunningStatistics running = {channels(context.states[0]), channels(context.states[1])};
      if (options_.momentum) {
        running.momentum = *options_.momentum;
      } else {
        auto* const batches = reinterpret_cast<int64_t*>(context.states[4]);
        RONDO_RETURN_IF_ERROR(advance(batches, 1, context.stream));
        running.batches = batches;
      }
      RONDO_RETURN_IF_ERROR(batch_norm_statistics(mean, inv_std, running, sums(context, 0), count(context),
                                                  options_.eps, context.stream));
    } else if (!context.training) {
      RONDO_RETURN_IF_ERROR(
          batch_norm_inv_std(inv_std, channels(context.states[1]), options_.eps, context.stream));
    }
    return with_element_type(context.output.type, [&]<class T>(T) {
      return batch_norm(context.output.pixels<T>(), context.inputs[0].pixels<T>(),
                        context.training ? mean : channels(context.states[0]), inv_std,
                        parameter(context.parameters, 0), parameter(context.parameters, 1), {.relu = relu_},
                        context.stream);
    });
  }

  Status backward_sums(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      return batch_norm_backward_sums(sums(context, 1), parameter(context.parameter_gradients, 0),
                                      parameter(context.parameter_gradients, 1),
                                      context.output_gradient.pixels<T>(), saved<T>(context),
                                      context.workspace, context.stream);
    });
  }

  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data || context.summed_batch == 0) return {};
    return with_element_type(context.output.type, [&]<class T>(T) {
      return batch_norm_backward(
          context.input_gradients[0].pixels<T>(), {}, context.output_gradient.pixels<T>(), saved<T>(context),
          parameter(context.parameters, 0), sums(context, 1), count(context), context.stream);
    });
  }

 private:
  VectorView<float> channels(float* data) const { return {data, shape_.channels}; }
  // Parameter number i or its gradient.
  VectorView<float> parameter(std::span<float* const> tensors, size_t i) const {
    return optional_vector(tensors, i, shape_.channels);
  }
  VectorView<double> sums(const OpContext& context, size_t which) const {
    return {context.sums[which], 2 * shape_.channels};
  }
  // Number of rows in the sums.
  int64_t count(const OpContext& context) const {
    return context.summed_batch * shape_.height * shape_.width;
  }
  template <class T>
  BatchNormSavedOf<T> saved(const OpContext& context) const {
    BatchNormSavedOf<T> saved = {context.inputs[0].pixels<T>(), channels(context.states[2]),
                                 channels(context.states[3])};
    if (relu_) saved.y = context.output.pixels<T>();
    return saved;
  }

  Shape shape_;
  BatchNorm2d::Options options_;
  bool sums_are_given_, relu_ = false;
};

}  // namespace

Value BatchNorm2d::build(Graph& graph, Value x) const {
  const float momentum = options_.momentum.value_or(0);
  if (!(options_.eps >= 0 && options_.eps < 1) || !(momentum >= 0 && momentum <= 1))
    throw Error(bad_argument("BatchNorm2d: eps is ", options_.eps, " and momentum ", momentum,
                             ", must be in [0, 1) and [0, 1]"));
  const std::vector<int64_t> channels = {x.shape.channels};
  std::vector<int> parameters;
  if (options_.affine)
    parameters = {graph.parameter("weight", channels, Init::ones()),
                  graph.parameter("bias", channels, Init::zeros())};
  // forward writes the last two for backward.
  std::vector<int> states = {graph.state("running_mean", channels, Init::zeros()),
                             graph.state("running_var", channels, Init::ones()),
                             graph.non_persistent_buffer("batch_mean", channels),
                             graph.non_persistent_buffer("batch_inv_std", channels)};
  if (!options_.momentum) states.push_back(graph.counter("num_batches_tracked"));
  const bool sums_are_given = graph.fuse_sums(x);
  return graph.add(std::make_unique<BatchNormOp>(x.shape, options_, sums_are_given), {x}, x.shape, parameters,
                   states);
}

}  // namespace rondo::nn
