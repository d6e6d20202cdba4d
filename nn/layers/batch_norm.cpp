#include <rondo/nn/layers/batch_norm.h>

#include <rondo/kernels/norm/batch_norm.h>

namespace rondo::nn {

namespace {

class BatchNormOp : public Op {
 public:
  BatchNormOp(Shape shape, BatchNorm2d::Options options) : shape_(shape), options_(options) {}

  std::string description() const override { return concat("batch norm", relu_ ? ", ReLU" : ""); }
  double flops() const override { return 6.0 * static_cast<double>(shape_.size()); }
  Saves saves() const override { return {.inputs = true, .output = relu_}; }
  bool fuse_relu() override { return relu_ = true; }
  int64_t workspace_bytes(int64_t batch) const override {
    return batch_norm_workspace_bytes(batch * shape_.height * shape_.width, shape_.channels);
  }
  int64_t shared_sums() const override { return 2 * shape_.channels; }

  Status forward_sums(const OpContext& run) const override {
    return batch_norm_sums(sums(run, 0), run.inputs[0].pixels(), run.workspace, run.stream);
  }

  Status forward(const OpContext& run) const override {
    if (run.training && run.summed_batch == 0) return {};  // an empty batch
    const VectorView<float> mean = channels(run.states[2]), inv_std = channels(run.states[3]);
    // A recomputation reuses the batch statistics, which are already in the running statistics.
    if (run.training && !run.recompute) {
      const RunningStatistics running = {channels(run.states[0]), channels(run.states[1]), options_.momentum};
      RONDO_RETURN_IF_ERROR(
          batch_norm_statistics(mean, inv_std, running, sums(run, 0), count(run), options_.eps, run.stream));
    } else if (!run.training) {
      RONDO_RETURN_IF_ERROR(batch_norm_inv_std(inv_std, channels(run.states[1]), options_.eps, run.stream));
    }
    return batch_norm(run.output.pixels(), run.inputs[0].pixels(),
                      run.training ? mean : channels(run.states[0]), inv_std, channels(run.parameters[0]),
                      channels(run.parameters[1]), {.relu = relu_}, run.stream);
  }

  Status backward_sums(const OpContext& run) const override {
    return batch_norm_backward_sums(sums(run, 1), channels(run.parameter_gradients[0]),
                                    channels(run.parameter_gradients[1]), run.output_gradient.pixels(),
                                    saved(run), run.workspace, run.stream);
  }

  Status backward(const OpContext& run) const override {
    if (!run.input_gradients[0].data || run.summed_batch == 0) return {};
    return batch_norm_backward(run.input_gradients[0].pixels(), {}, run.output_gradient.pixels(), saved(run),
                               channels(run.parameters[0]), sums(run, 1), count(run), run.stream);
  }

 private:
  VectorView<float> channels(float* data) const { return {data, shape_.channels}; }
  VectorView<double> sums(const OpContext& run, size_t which) const {
    return {run.sums[which], 2 * shape_.channels};
  }
  // Number of rows in the sums.
  int64_t count(const OpContext& run) const { return run.summed_batch * shape_.height * shape_.width; }
  BatchNormSaved saved(const OpContext& run) const {
    BatchNormSaved saved = {run.inputs[0].pixels(), channels(run.states[2]), channels(run.states[3])};
    if (relu_) saved.y = run.output.pixels();
    return saved;
  }

  Shape shape_;
  BatchNorm2d::Options options_;
  bool relu_ = false;
};

}  // namespace

Value BatchNorm2d::build(Graph& graph, Value x) const {
  if (!(options_.eps >= 0 && options_.eps < 1) || !(options_.momentum >= 0 && options_.momentum <= 1))
    throw Error(bad_argument("BatchNorm2d: eps is ", options_.eps, " and momentum ", options_.momentum,
                             ", must be in [0, 1) and [0, 1]"));
  const std::vector<int64_t> channels = {x.shape.channels};
  const std::vector<int> parameters = {graph.parameter("weight", channels, Init::ones()),
                                       graph.parameter("bias", channels, Init::zeros())};
  // forward writes the last two for backward.
  const std::vector<int> states = {graph.state("running_mean", channels, Init::zeros()),
                                   graph.state("running_var", channels, Init::ones()),
                                   graph.non_persistent_buffer("batch_mean", channels),
                                   graph.non_persistent_buffer("batch_inv_std", channels)};
  return graph.add(std::make_unique<BatchNormOp>(x.shape, options_), {x}, x.shape, parameters, states);
}

}  // namespace rondo::nn
