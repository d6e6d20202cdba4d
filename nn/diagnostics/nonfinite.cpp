#include <rondo/nn/diagnostics/nonfinite.h>

#include <rondo/kernels/reduce/first_nonfinite.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace rondo::nn {

namespace {

// "[4, 0, 1, 7]": a position in a row-major tensor.
std::string position_in(const std::vector<int64_t>& shape, int64_t index) {
  std::string text = "]";
  for (size_t side = shape.size(); side-- > 0; index /= shape[side])
    text = concat(side > 0 ? ", " : "[", index % shape[side], text);
  return text;
}

// Checks tensors in sequence and keeps the first non-finite one.
class Search {
 public:
  Search(std::span<Replica> replicas, const World* world) : replicas_(replicas), world_(world) {
    for (Replica& replica : replicas) {
      const DeviceScope scope(replica.device());
      found_.emplace_back(1);
    }
  }

  const std::optional<NonfiniteTensor>& result() const { return result_; }

  // Checks `tensor_of(replica)` of each replica; `name` is the name in the result.
  template <class TensorOf>
  void check(const std::string& name, TensorOf tensor_of) {
    check_all_processes(name, [&] {
      check_this_process(tensor_of, name, [&](Replica& replica, int64_t index) {
        const Shape shape = tensor_of(replica).shape;
        return position_in_sample(shape, replica.first() + index / shape.size(), index % shape.size());
      });
    });
  }
  template <class Data>
  void check(const std::string& name, const Parameter& parameter, Data data) {
    const auto tensor_of = [&](Replica& replica) { return Tensor{data(replica), 1, {1, 1, parameter.size}}; };
    check_all_processes(name, [&] {
      check_this_process(tensor_of, name,
                         [&](Replica&, int64_t index) { return position_in(parameter.shape, index); });
    });
  }

  // Checks the losses of each replica.
  template <class Losses>
  void check_losses(Losses losses) {
    check_all_processes("the loss", [&] {
      for (size_t r = 0; r < replicas_.size() && !result_; ++r) check_losses_of(r, losses);
    });
  }

 private:
  // The part of a result that the processes exchange. They all know the tensor's name.
  struct Found {
    int replica = -1;
    std::array<char, 120> position = {};
    int64_t index = 0;
    float value = 0;
  };

  // Calls check(), which may set result_, and takes the first result of all processes.
  template <class Check>
  void check_all_processes(const std::string& name, Check check) {
    if (result_) return;
    check();
    if (!world_ || !world_->processes()) return;
    Found own;
    if (result_) {
      own = {result_->replica + world_->first(), {}, result_->index, result_->value};
      std::copy_n(result_->position.begin(), std::min(result_->position.size(), own.position.size() - 1),
                  own.position.begin());
    }
    result_.reset();
    for (const Found& found : world_->gather(own, "looking for the first tensor that is not finite"))
      if (found.replica >= 0 && !result_)
        result_ = NonfiniteTensor{found.replica, name, found.position.data(), found.index, found.value};
  }

  template <class TensorOf, class Position>
  void check_this_process(TensorOf tensor_of, const std::string& name, Position position) {
    for (size_t r = 0; r < replicas_.size() && !result_; ++r) {
      Replica& replica = replicas_[r];
      const Tensor tensor = tensor_of(replica);
      if (!tensor.data) continue;
      const DeviceScope scope(replica.device());
      throw_if_error(with_element_type(tensor.type, [&]<class T>(T) {
        return first_nonfinite({found_[r].data(), 1}, tensor.elements<T>(), false, replica.stream());
      }));
      RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
      const unsigned long long found = found_[r].download()[0];
      if (found == kAllFinite) continue;
      const auto index = static_cast<int64_t>(found);
      NonfiniteTensor& bad = result_.emplace();
      bad = {static_cast<int>(r), name, position(replica, index), index, 0};
      throw_if_error(with_element_type(tensor.type, [&]<class T>(T value) {
        RONDO_CUDA(cudaMemcpy(&value, tensor.as<T>() + index, sizeof(value), cudaMemcpyDeviceToHost));
        bad.value = static_cast<float>(value);
        return Status();
      }));
    }
  }

  // Searches by halves: a sum of losses is finite only if each of them is.
  template <class Losses>
  void check_losses_of(size_t r, Losses losses) {
    const auto finite = [&](Shard samples) { return std::isfinite(losses(r, samples).loss); };
    Replica& replica = replicas_[r];
    Shard bad = {0, replica.batch()};
    if (bad.size == 0 || finite(bad)) return;
    while (bad.size > 1) {
      const Shard first = {bad.first, bad.size / 2};
      bad = finite(first) ? Shard{bad.first + first.size, bad.size - first.size} : first;
    }
    const LossStats found = losses(r, bad);
    result_ = NonfiniteTensor{static_cast<int>(r), "the loss",
                              concat("[sample ", replica.first() + bad.first,
                                     found.bad_labels > 0 ? ", whose label is out of range]" : "]"),
                              bad.first, static_cast<float>(found.loss)};
  }

  std::span<Replica> replicas_;
  const World* world_;
  std::vector<Buffer<unsigned long long>> found_;
  std::optional<NonfiniteTensor> result_;
};

std::vector<float> saved_states(Replica& replica) {
  std::vector<float> states(static_cast<size_t>(replica.states().size));
  const DeviceScope scope(replica.device());
  RONDO_CUDA_THROW(cudaMemcpyAsync(states.data(), replica.states().data, states.size() * sizeof(float),
                                   cudaMemcpyDeviceToHost, replica.stream()));
  RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
  return states;
}

void put_back(Replica& replica, const std::vector<float>& states) {
  const DeviceScope scope(replica.device());
  RONDO_CUDA_THROW(cudaMemcpyAsync(replica.states().data, states.data(), states.size() * sizeof(float),
                                   cudaMemcpyHostToDevice, replica.stream()));
  RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
}

std::string name_of(const Graph::Node& node) {
  if (node.name.empty()) return node.op->description();  // the whole network
  return concat(node.name, " (", node.op->description(), ")");
}

}  // namespace

std::string NonfiniteTensor::text() const {
  return concat(replica > 0 ? concat("replica ", replica, ": ") : "", tensor, " ", position, " is ", value);
}

std::optional<NonfiniteTensor> first_nonfinite_in_forward(std::span<Replica> replicas, const Pass& pass,
                                                          const World* world) {
  const Graph& graph = replicas[0].graph();
  Search search(replicas, world);
  for (const Parameter& p : graph.parameters())
    search.check(p.name, p, [&](Replica& replica) { return replica.parameter(p); });
  // In training forward() does not read the states, so a NaN there cannot be the origin.
  if (!pass.training)
    for (const Parameter& s : graph.states())
      if (s.type == DType::float32)
        search.check(s.name, s, [&](Replica& replica) { return replica.state(s); });
  search.check("the network's input", [](Replica& replica) { return replica.input(); });
  if (search.result()) return search.result();

  std::vector<std::vector<float>> states;
  for (Replica& replica : replicas) states.push_back(saved_states(replica));
  forward(replicas, pass, [&](int node) {
    search.check(name_of(graph.nodes()[static_cast<size_t>(node)]) + ": output",
                 [&](Replica& replica) { return replica.output_of(node); });
  });
  for (size_t r = 0; r < replicas.size(); ++r) put_back(replicas[r], states[r]);
  return search.result();
}

std::optional<NonfiniteTensor> first_nonfinite_in_backward(std::span<Replica> replicas, const Pass& pass,
                                                           const World* world) {
  const Graph& graph = replicas[0].graph();
  Search search(replicas, world);
  search.check("the gradient of the network's output",
               [](Replica& replica) { return replica.output_gradient(); });
  if (search.result()) return search.result();

  backward(replicas, pass, [&](int index) {
    const Graph::Node& node = graph.nodes()[static_cast<size_t>(index)];
    for (int p : node.parameters) {
      const Parameter& parameter = graph.parameters()[static_cast<size_t>(p)];
      search.check(parameter.name + ": gradient", parameter,
                   [&](Replica& replica) { return replica.gradients().data + parameter.offset; });
    }
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const std::string name =
          concat(name_of(node), ": gradient of ", node.inputs.size() > 1 ? concat("input ", i) : "its input");
      search.check(name, [&](Replica& replica) { return replica.input_gradient_of(index, i); });
      search.check(name + ", added to that of others",
                   [&](Replica& replica) { return replica.added_to_by(index, i); });
    }
  });
  return search.result();
}

std::optional<NonfiniteTensor> first_nonfinite_loss(
    std::span<Replica> replicas, const std::function<LossStats(size_t replica, Shard samples)>& losses,
    const World* world) {
  Search search(replicas, world);
  search.check_losses(losses);
  return search.result();
}

}  // namespace rondo::nn
