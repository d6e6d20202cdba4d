// One step on one device and on several. The gradients agree up to rounding, and bit for bit between devices.
#include <gtest/gtest.h>

#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::distance;
using Floats = std::vector<float>;

// Uneven on some numbers of devices, and fewer samples than devices.
constexpr int64_t kBatches[] = {7, 5, 2};
constexpr int64_t kMostSamples = 7, kOutputs = 10;

struct Case {
  AnyModule network;
  Shape input;
  Loss loss;
};

// A model whose parameters do not change, so that all its steps can be compared.
class Stepper {
 public:
  Stepper(const Case& of, int devices)
      : loss_(of.loss),
        model_(of.network, of.input,
               {.devices = test::spread(devices), .batch = kMostSamples, .seed = 7, .bucket_bytes = 100'000}),
        sgd_(model_, {.learning_rate = 0}) {}

  const Graph& graph() const { return model_.graph(); }

  // Gradients of each replica: sums over the first `batch` samples of the data.
  std::vector<Floats> gradients(int64_t batch) {
    const Floats x = test::normal_values(batch * graph().input().shape.size(), 6);
    if (loss_ == Loss::cross_entropy)
      model_.train_step(x, test::some_labels(batch, kOutputs), sgd_);
    else
      model_.train_step(x, test::normal_values(batch * kOutputs, 8), sgd_);
    EXPECT_EQ(model_.take_loss_stats().rows, batch);  // also waits
    std::vector<Floats> all;
    for (Replica& replica : model_.replicas()) {
      Floats& values = all.emplace_back(static_cast<size_t>(replica.gradients().size));
      const DeviceScope scope(replica.device());
      RONDO_CUDA_THROW(cudaMemcpy(values.data(), replica.gradients().data, values.size() * sizeof(float),
                                  cudaMemcpyDeviceToHost));
    }
    return all;
  }

 private:
  Loss loss_;
  DataParallel model_;
  Sgd sgd_;
};

Floats part(const Floats& arena, const Parameter& of) {
  return {arena.begin() + of.offset, arena.begin() + of.offset + of.size};
}

// Biases before a batch normalisation: their gradients consist of rounding errors only.
std::set<int> without_gradient(const Graph& graph) {
  std::set<int> biases;
  for (const Graph::Node& node : graph.nodes()) {
    if (node.op->shared_sums() == 0) continue;
    const int producer = graph.values()[static_cast<size_t>(graph.resolved(node.inputs[0]))].producer;
    const std::vector<int>& parameters = graph.nodes()[static_cast<size_t>(producer)].parameters;
    if (parameters.size() == 2) biases.insert(parameters[1]);
  }
  return biases;
}

// Bound on the length of the difference relative to that of one device's gradients, over all parameters and
// for each tensor. Over all parameters alone, a layer with small gradients would not matter. Measured errors
// are below a third of it.
constexpr double kBound = 1e-6;

void expect_devices_agree(const Case& of) {
  std::vector<Floats> wanted;
  {
    Stepper one(of, 1);
    for (int64_t batch : kBatches) wanted.push_back(one.gradients(batch)[0]);
  }
  double of_all = 0, of_a_tensor = 0;
  for (int devices : {2, 3, 4}) {
    Stepper several(of, devices);
    const std::vector<Parameter>& parameters = several.graph().parameters();
    const std::set<int> left_out = without_gradient(several.graph());
    for (size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE(concat(kBatches[i], " samples on ", devices, " devices"));
      const std::vector<Floats> replicas = several.gradients(kBatches[i]);
      for (const Floats& replica : replicas)
        EXPECT_TRUE(all_equal_bits(replica, replicas[0])) << "the replicas differ";
      const double error = distance(replicas[0], wanted[i]);
      EXPECT_LE(error, kBound);
      of_all = std::max(of_all, error);
      for (size_t p = 0; p < parameters.size(); ++p) {
        if (left_out.contains(static_cast<int>(p))) continue;
        const double its_own = distance(part(replicas[0], parameters[p]), part(wanted[i], parameters[p]));
        EXPECT_LE(its_own, kBound) << parameters[p].name;
        of_a_tensor = std::max(of_a_tensor, its_own);
      }
    }
  }
  std::printf("largest relative distance: %.1e of all parameters, %.1e of a tensor\n", of_all, of_a_tensor);
}

TEST(Devices, ResNet18) { expect_devices_agree({resnet18(), {12, 12, 1}, Loss::cross_entropy}); }
TEST(Devices, DeepMlp) {
  expect_devices_agree(
      {mlp(90, 24, kOutputs, WeightInit::kaiming_normal()), {1, 1, 40}, Loss::squared_error});
}
TEST(Devices, WideMlp) { expect_devices_agree({mlp(4, 200), {1, 1, 40}, Loss::squared_error}); }

}  // namespace
}  // namespace rondo::nn
