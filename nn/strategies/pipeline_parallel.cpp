// Network partitioning: the layers are what is split.
//
// Each device holds some consecutive layers, a stage, and nothing of the others: a network that fits no single device fits
// several. What goes from device to device is small, the activations where the network is cut, and their gradients on
// the way back. But the stages depend on each other. If the batch went through as a whole, one device would work at
// a time and the others would wait:
//
//   device 0   F F F F . . . . . . . . B B B B            F forward, B backward, . nothing to do
//   device 1   . . . . F F F F B B B B . . . .
//
// So the batch is cut into micro-batches, here 4, that follow each other through the stages (Huang et al., "GPipe", 2019):
//
//   device 0   F0 F1 F2 F3 .  .  B3 B2 B1 B0              forward of all of them,
//   device 1   .  F0 F1 F2 F3 B3 B2 B1 B0 .               backward of all of them, the last first
//
// With k stages of equal cost and m micro-batches, k - 1 of m + k - 1 moments are lost at each device. The price of more
// micro-batches is smaller matrices. All micro-batches' activations are kept until they go backward, which together
// are those of the whole batch: what is saved is that each device has those of its own layers only.
//
// The step is that of one device. Gradients are sums over samples, so those of the micro-batches add up to the batch's, from
// the last to the first: g = ((g3 + g2) + g1) + g0. With one micro-batch the same kernels work on the same sizes and each
// bit is that of one device; with several, sums are associated otherwise, and the last bits differ.
//
// The host puts all of it on streams and waits for nothing. Each stage computes on a stream of its own, in the order of
// the picture, and sends on another one. Two events guard each copy: "ready", before which it must not read, and "arrived",
// before which nobody may use it. No third one tells that the place it writes to is free again, because that follows:
// a place of micro-batch i in stage s + 1 was last used, a step ago, before its gradient was sent to stage s; stage s waited
// for that gradient before it went backward, before it took its step, and so before it computed what is sent now.

#include <rondo/nn/strategies/pipeline_parallel.h>

#include <rondo/nn/train/shard.h>

#include <algorithm>

namespace rondo::nn {

namespace {

constexpr const char* kName = "pipeline parallel";

std::vector<Event> events(int device, int64_t count) {
  const DeviceScope scope(device);
  return std::vector<Event>(static_cast<size_t>(count));
}

// The parameters of consecutive nodes lie one after the other in the arena of all, as they were made.
ParameterPart part_of(const Graph& whole, const Piece& piece, const Graph& graph) {
  for (int i = piece.first_node; i < piece.first_node + piece.nodes; ++i)
    for (int p : whole.nodes()[static_cast<size_t>(i)].parameters)
      return {.whole = whole.parameters()[static_cast<size_t>(p)].offset,
              .size = graph.parameter_arena_size()};
  return {};
}

}  // namespace

PipelineParallel::PipelineParallel(const AnyModule& network, Shape input, const StrategyOptions& options)
    : options_(checked(kName, options)),
      whole_(make_graph(network, input)),
      pieces_(stages_of(network, input, options.batch, options.devices.size())) {
  const int64_t micros = std::min(options.micro_batches, options.batch);
  const int64_t samples = (options.batch + micros - 1) / micros;
  const std::vector<float> initial = initial_parameters(whole_, options.devices[0], options.seed);
  open_links(options.devices);
  stages_.reserve(pieces_.size());  // workers refer to the graphs beside them
  for (size_t s = 0; s < pieces_.size(); ++s) {
    const Piece& piece = pieces_[s];
    const int device = options.devices[s];
    Stage& stage = stages_.emplace_back(
        Stage{make_graph(Sequential(piece.modules), piece.input), {}, {}, {}, {}, {}, {}, {}});
    if (stage.graph.nodes().size() != static_cast<size_t>(piece.nodes))
      throw Error(bad_argument(kName, ": stage ", s, " alone has ", stage.graph.nodes().size(),
                               " operations, must have ", piece.nodes, " as in the whole network"));
    stage.part = part_of(whole_, piece, stage.graph);
    stage.worker = std::make_unique<Worker>(
        stage.graph, WorkerOptions{.device = device,
                                   .samples = samples,
                                   .micro_batches = micros,
                                   .input_gradient = s > 0,
                                   .seed = options.seed,
                                   .learning_rate = options.learning_rate,
                                   .operations = std::span(whole_.nodes())
                                                     .subspan(static_cast<size_t>(piece.first_node),
                                                              static_cast<size_t>(piece.nodes))});
    stage.worker->set_parameters(take_parts(initial, {stage.part}, stage.graph.parameter_arena_size()));
    const DeviceScope scope(device);
    stage.sending = std::make_unique<Stream>();
    for (std::vector<Event>* each :
         {&stage.ready, &stage.arrived, &stage.gradient_ready, &stage.gradient_arrived})
      *each = events(device, micros);
  }
  Worker& last = *stages_.back().worker;
  head_ =
      std::make_unique<LossHead>(last.device(), last.stream(), options.batch, whole_.output().shape.size());
}

// From the memory of one stage to that of another, beside what both of them compute.
void PipelineParallel::send(Stage& from, const Tensor& what, Event& ready, Stage& to, const Tensor& where,
                            Event& arrived) {
  const DeviceScope scope(from.worker->device());
  const cudaStream_t sending = *from.sending;
  const int64_t bytes = what.size() * static_cast<int64_t>(sizeof(float));
  RONDO_CUDA_THROW(cudaEventRecord(ready, from.worker->stream()));
  RONDO_CUDA_THROW(cudaStreamWaitEvent(sending, ready, 0));
  RONDO_CUDA_THROW(cudaMemcpyPeerAsync(where.data, to.worker->device(), what.data, from.worker->device(),
                                       static_cast<size_t>(bytes), sending));
  RONDO_CUDA_THROW(cudaEventRecord(arrived, sending));
  RONDO_CUDA_THROW(cudaStreamWaitEvent(to.worker->stream(), arrived, 0));
  sent_bytes_ += bytes;
}

// A micro-batch through all stages, and through the loss: every F of one number in the picture.
void PipelineParallel::forward(int64_t micro, int64_t first) {
  const auto i = static_cast<size_t>(micro);
  for (size_t s = 0; s < stages_.size(); ++s) {
    Stage& stage = stages_[s];
    if (s > 0) {
      Stage& before = stages_[s - 1];
      send(before, before.worker->output(micro), before.ready[i], stage, stage.worker->input(micro),
           before.arrived[i]);
    }
    for (int node = 0; node < stage.worker->nodes(); ++node) stage.worker->forward(node, micro);
  }
  Worker& last = *stages_.back().worker;
  head_->run(last.output(micro), last.output_gradient(micro), first);
}

// ... and every B.
void PipelineParallel::backward(int64_t micro, bool add) {
  const auto i = static_cast<size_t>(micro);
  for (size_t s = stages_.size(); s-- > 0;) {
    Stage& stage = stages_[s];
    for (int node = stage.worker->nodes() - 1; node >= 0; --node) stage.worker->backward(node, micro, add);
    if (s == 0) break;
    Stage& before = stages_[s - 1];
    send(stage, stage.worker->input_gradient(micro), stage.gradient_ready[i], before,
         before.worker->output_gradient(micro), stage.gradient_arrived[i]);
  }
}

void PipelineParallel::train_step(const Batch& batch) {
  const int64_t size = checked_size(kName, batch, whole_, options_.batch);
  const int64_t micros = std::min(options_.micro_batches, size);  // none is empty
  for (int64_t micro = 0; micro < micros; ++micro) {
    const Shard shard = shard_of(size, micro, micros);
    for (Stage& stage : stages_) stage.worker->set_batch(micro, shard.size, shard.first);
    stages_[0].worker->upload_input(micro, nn::part_of(batch, size, shard.first, shard.size).x);
  }
  head_->upload(batch, 0);
  for (int64_t micro = 0; micro < micros; ++micro) forward(micro, shard_of(size, micro, micros).first);
  for (int64_t micro = micros - 1; micro >= 0; --micro) backward(micro, micro < micros - 1);
  for (Stage& stage : stages_) stage.worker->update(1.0f / static_cast<float>(size));
}

std::vector<float> PipelineParallel::parameters() {
  std::vector<float> all(static_cast<size_t>(whole_.parameter_arena_size()), 0.0f);
  for (Stage& stage : stages_) put_parts(all, {stage.part}, stage.worker->parameters());
  return all;
}

std::vector<RankMemory> PipelineParallel::memory() const {
  std::vector<RankMemory> all;
  for (const Stage& stage : stages_) all.push_back(stage.worker->memory());
  all.back().buffers += head_->bytes();
  return all;
}

}  // namespace rondo::nn
