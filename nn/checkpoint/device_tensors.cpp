#include <rondo/nn/checkpoint/device_tensors.h>

#include <cstring>
#include <map>

namespace rondo::nn {
namespace {

template <class Where>
DeviceTensor tensor_on_all(DataParallel& model, std::string name, StoredType type, std::vector<int64_t> shape,
                           Where where) {
  DeviceTensor tensor{std::move(name), type, std::move(shape), {}};
  for (size_t rank = 0; rank < model.replicas().size(); ++rank)
    tensor.places.push_back({model.replicas()[rank].device(), where(model.replicas()[rank], rank)});
  return tensor;
}

size_t bytes_of(const DeviceTensor& tensor) {
  return static_cast<size_t>(rondo::bytes_of(tensor.type, tensor.shape));
}

std::unique_ptr<std::byte[]> download(const DeviceTensor& tensor, const DeviceTensor::Place& place) {
  const DeviceScope scope(place.device);
  auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes_of(tensor));
  RONDO_CUDA_THROW(cudaMemcpy(memory.get(), place.data, bytes_of(tensor), cudaMemcpyDeviceToHost));
  return memory;
}

// Returns the first place whose contents differ from `memory`, or -1.
int64_t first_other(const DeviceTensor& tensor, const std::byte* memory) {
  for (size_t i = 1; i < tensor.places.size(); ++i)
    if (std::memcmp(download(tensor, tensor.places[i]).get(), memory, bytes_of(tensor)) != 0)
      return static_cast<int64_t>(i);
  return -1;
}

}  // namespace

std::vector<DeviceTensor> parameter_tensors(DataParallel& model) {
  std::vector<DeviceTensor> tensors;
  for (const Parameter& p : model.graph().parameters())
    tensors.push_back(tensor_on_all(model, p.name, StoredType::f32, p.shape,
                                    [&](Replica& replica, size_t) { return replica.parameter(p); }));
  return tensors;
}

std::vector<DeviceTensor> state_tensors(DataParallel& model, bool one_for_each) {
  std::vector<DeviceTensor> tensors;
  for (const Parameter& s : model.graph().states()) {
    if (!s.persistent) continue;
    const DeviceTensor all = tensor_on_all(model, s.name, stored_type(s), s.shape,
                                           [&](Replica& replica, size_t) { return replica.state(s); });
    if (!one_for_each) {
      tensors.push_back(all);
      continue;
    }
    for (size_t rank = 0; rank < all.places.size(); ++rank)
      tensors.push_back({concat("replica.", rank, ".", s.name), all.type, all.shape, {all.places[rank]}});
  }
  return tensors;
}

StoredType stored_type(const Parameter& parameter) {
  return parameter.type == DType::int64 ? StoredType::i64 : StoredType::f32;
}

std::vector<DeviceTensor> training_tensors(DataParallel& model, Optimizer& optimizer) {
  std::vector<OptimizerMemory> memory;
  for (size_t rank = 0; rank < model.replicas().size(); ++rank) memory.push_back(optimizer.memory(rank));
  std::vector<DeviceTensor> tensors;
  tensors.push_back(tensor_on_all(model, "training.steps", StoredType::i64, {},
                                  [](Replica& replica, size_t) { return replica.step(); }));
  for (size_t i = 0; i < memory[0].counters.size(); ++i)
    tensors.push_back(tensor_on_all(model, "optimizer." + memory[0].counters[i].name, StoredType::i64, {},
                                    [&](Replica&, size_t rank) { return memory[rank].counters[i].value; }));
  for (size_t i = 0; i < memory[0].arenas.size(); ++i)
    for (const Parameter& p : model.graph().parameters())
      tensors.push_back(tensor_on_all(
          model, concat("optimizer.", memory[0].arenas[i].name, ".", p.name), StoredType::f32, p.shape,
          [&](Replica&, size_t rank) { return memory[rank].arenas[i].values.data + p.offset; }));
  return tensors;
}

HostTensors download(const std::vector<DeviceTensor>& tensors) {
  HostTensors host;
  for (const DeviceTensor& tensor : tensors) {
    host.memory.push_back(download(tensor, tensor.places[0]));
    const std::byte* memory = host.memory.back().get();
    if (const int64_t other = first_other(tensor, memory); other >= 0)
      throw Error(bad_argument("the replicas differ: '", tensor.name, "' of replica ", other,
                               " is not that of replica 0"));
    host.tensors.push_back({tensor.name, tensor.type, tensor.shape, {memory, bytes_of(tensor)}});
  }
  return host;
}

bool places_agree(const std::vector<DeviceTensor>& tensors) {
  for (const DeviceTensor& tensor : tensors)
    if (first_other(tensor, download(tensor, tensor.places[0]).get()) >= 0) return false;
  return true;
}

std::vector<const StoredTensor*> matching(const Safetensors& file, const std::vector<DeviceTensor>& tensors,
                                          const std::set<std::string>& besides) {
  std::map<std::string, const StoredTensor*> stored;
  for (const StoredTensor& tensor : file.tensors) stored[tensor.name] = &tensor;
  std::vector<const StoredTensor*> found;
  for (const DeviceTensor& want : tensors) {
    const auto place = stored.find(want.name);
    const std::string wanted = text_of(want.type, want.shape);
    if (place == stored.end())
      throw Error(bad_argument("there is no tensor '", want.name, "', must be ", wanted, " as in the model"));
    const StoredTensor& tensor = *place->second;
    if (tensor.type != want.type || tensor.shape != want.shape)
      throw Error(bad_argument("tensor '", want.name, "' is ", text_of(tensor.type, tensor.shape),
                               ", must be ", wanted, " as in the model"));
    found.push_back(&tensor);
    stored.erase(place);
  }
  for (const auto& [name, tensor] : stored) {
    const bool belongs_there =
        std::ranges::any_of(besides, [&](const auto& b) { return name.starts_with(b); });
    if (!belongs_there)
      throw Error(bad_argument("there is a tensor '", shown_name(name), "', ",
                               text_of(tensor->type, tensor->shape), ", which the model does not have"));
  }
  return found;
}

void check_count(const std::string& name, int64_t count) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (count < 0 || count > kMost)
    throw Error(bad_argument("its ", name, " is ", count, ", must be 0 to ", kMost));
}

void check_counters(const std::vector<const StoredTensor*>& tensors) {
  for (const StoredTensor* tensor : tensors) {
    if (tensor->type != StoredType::i64) continue;
    int64_t value = 0;
    std::memcpy(&value, tensor->bytes.data(), sizeof(value));
    check_count(concat("tensor '", tensor->name, "'"), value);
  }
}

void upload(const std::vector<DeviceTensor>& tensors, const std::vector<const StoredTensor*>& contents) {
  for (size_t i = 0; i < tensors.size(); ++i)
    for (const DeviceTensor::Place& place : tensors[i].places) {
      const DeviceScope scope(place.device);
      RONDO_CUDA_THROW(cudaMemcpy(place.data, contents[i]->bytes.data(), contents[i]->bytes.size(),
                                  cudaMemcpyHostToDevice));
      // A cudaMemcpy from pageable memory may return before the data has reached the device.
      RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
    }
}

}  // namespace rondo::nn
