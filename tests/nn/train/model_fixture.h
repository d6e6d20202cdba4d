// ModelFixture: replicas of a network on several devices, controlled directly by a test.
#pragma once

#include <rondo/nn/graph/replica.h>
#include <rondo/nn/layers/module.h>
#include <rondo/tests/nn/train/spread.h>

#include <functional>
#include <span>
#include <vector>

namespace rondo::nn {

using test::spread;

inline MemoryPlan trained(const Graph& graph, int64_t batch) { return plan_training(graph, batch); }

constexpr Pass kTraining = {.training = true, .seed = 3};

// The replicas have the same parameters; each has a part of the batch.
struct ModelFixture {
  ModelFixture(const AnyModule& network, Shape input, std::vector<int> rank_devices, int64_t batch,
               const std::function<MemoryPlan(const Graph&, int64_t)>& plan, Math math = Math::fp32,
               DType activations = DType::float32)
      : graph(make_graph(network, input, math, activations)),
        devices(std::move(rank_devices)),
        whole_batch(batch),
        statistics(devices, {.slot_bytes = 4096, .bucket_bytes = 0}) {
    const auto ranks = static_cast<int64_t>(devices.size());
    for (int device : devices) {
      const DeviceScope scope(device);
      streams.emplace_back();
    }
    for (int64_t r = 0; r < ranks; ++r) {
      const int64_t first = batch * r / ranks, size = batch * (r + 1) / ranks - first;
      replicas.emplace_back(graph, devices[static_cast<size_t>(r)], streams[static_cast<size_t>(r)],
                            plan(graph, size), size);
      replicas.back().set_batch(size, first);
      replicas.back().initialise(7);
    }
  }

  void upload(const std::vector<float>& x) {
    for (Replica& replica : replicas) {
      const Tensor input = replica.input();
      const auto begin = static_cast<size_t>(first_of(replica) * input.shape.size());
      put(replica, input.as(), {x.data() + begin, static_cast<size_t>(input.size())});
    }
  }
  int64_t first_of(const Replica& replica) const {
    const auto r = &replica - replicas.data();
    return whole_batch * r / static_cast<int64_t>(replicas.size());
  }
  static void put(Replica& replica, float* to, std::span<const float> values) {
    if (values.empty()) return;
    const DeviceScope scope(replica.device());
    RONDO_CUDA_THROW(
        cudaMemcpyAsync(to, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, replica.stream()));
    RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
  }
  template <class T>
  static std::vector<float> get(Replica& replica, VectorView<T> from) {
    std::vector<std::remove_const_t<T>> values(static_cast<size_t>(from.size));
    if (values.empty()) return {};
    const DeviceScope scope(replica.device());
    RONDO_CUDA_THROW(cudaMemcpyAsync(values.data(), from.data, values.size() * sizeof(T),
                                     cudaMemcpyDeviceToHost, replica.stream()));
    RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
    return {values.begin(), values.end()};
  }
  static std::vector<float> get(Replica& replica, const Tensor& tensor) {
    return tensor.type == DType::float32 ? get(replica, tensor.elements())
                                         : get(replica, tensor.elements<__nv_bfloat16>());
  }

  std::vector<float> outputs() {
    std::vector<float> all;
    for (Replica& replica : replicas) {
      const std::vector<float> part = get(replica, replica.output().elements());
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  // Gradients of sum over i of weights[i] * output[i], summed over the replicas.
  std::vector<double> gradients(const std::vector<float>& weights, const Pass& pass) {
    for (Replica& replica : replicas) {
      const Tensor gradient = replica.output_gradient();
      const auto begin = static_cast<size_t>(first_of(replica) * gradient.shape.size());
      put(replica, gradient.as(), {weights.data() + begin, static_cast<size_t>(gradient.size())});
    }
    backward(replicas, pass);
    std::vector<double> sum(static_cast<size_t>(graph.parameter_arena_size()));
    for (Replica& replica : replicas) {
      const std::vector<float> part = get(replica, replica.gradients());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    return sum;
  }

  // A training pass in which the replicas share their statistics.
  Pass shared() {
    Pass pass = kTraining;
    pass.sync_batch_norm = &statistics;
    return pass;
  }

  Graph graph;
  std::vector<int> devices;
  int64_t whole_batch;
  Communicator statistics;
  std::vector<Stream> streams;
  std::vector<Replica> replicas;
};

}  // namespace rondo::nn
