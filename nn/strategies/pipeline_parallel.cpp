// Pipeline parallelism: the layers are split.
//
// Each device holds some consecutive layers, a stage. A network that does not fit on one device can fit on
// several. Little data is transferred: the activations between two stages, and their gradients on the way
// back. But the stages depend on each other. If the batch passed through as a whole, only one device would
// work at a time:
//
//   device 0   F F F F . . . . . . . . B B B B            F forward, B backward, . idle
//   device 1   . . . . F F F F B B B B . . . .
//
// So the batch is split into micro-batches, here 4, that follow each other through the stages (Huang et al.,
// "GPipe", 2019):
//
//   device 0   F0 F1 F2 F3 .  .  B3 B2 B1 B0              forward of all micro-batches,
//   device 1   .  F0 F1 F2 F3 B3 B2 B1 B0 .               then backward of all, the last one first
//
// With k stages of equal cost and m micro-batches, each device is idle for k - 1 of m + k - 1 time slots.
// More micro-batches mean smaller matrices. The activations of all micro-batches are kept until their
// backward. Together they are those of the whole batch: a device saves memory only because it holds the
// activations of its own layers.
//
// The step is mathematically that of one device. Gradients are sums over samples, so the micro-batches'
// gradients add up to those of the batch, from the last to the first: g = ((g3 + g2) + g1) + g0. With one
// micro-batch, the same kernels work on the same sizes and the result has the same bits as on one device.
// With several, the sums are associated in another order and the last bits differ.
//
// The host enqueues everything on streams without waiting. Each stage computes on one stream, in the order of
// the picture, and sends on another. Two events order each copy: "ready", for which the copy waits, and
// "arrived", for which the receiver waits. No third event is needed to know that the destination is free.
// Stage s + 1 last used the buffer of micro-batch i in the previous step, before it sent the micro-batch's
// gradient to stage s. Stage s waited for that gradient before its backward and its update, and so before it
// computed the data that it sends now.

#include <rondo/nn/strategies/pipeline_parallel.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/graph/shard.h>

#include <algorithm>

namespace rondo::nn {

namespace {

constexpr const char* kPipelineParallel = "pipeline parallel";

std::vector<Event> events(int device, int64_t count) {
  const DeviceScope scope(device);
  return std::vector<Event>(static_cast<size_t>(count));
}

// Parameters of consecutive nodes are contiguous in the whole arena, in the order of their creation.
ParameterPart parameters_of_stage(const Graph& whole, const StagePart& part, const Graph& graph) {
  for (int i = part.first_node; i < part.first_node + part.nodes; ++i)
    for (int p : whole.nodes()[static_cast<size_t>(i)].parameters)
      return {.whole = whole.parameters()[static_cast<size_t>(p)].offset,
              .size = graph.parameter_arena_size()};
  return {};
}

}  // namespace

PipelineParallel::PipelineParallel(const AnyModule& network, Shape input, const StrategyOptions& options)
    : options_(checked(kPipelineParallel, options)),
      whole_(make_graph(network, input)),
      parts_(stages_of(network, input, options.batch, options.devices.size())) {
  const int64_t micros = std::min(options.micro_batches, options.batch);
  const int64_t samples = (options.batch + micros - 1) / micros;
  const std::vector<float> initial = initial_parameters(whole_, options.devices[0], options.seed);
  open_links(options.devices);
  stages_.reserve(parts_.size());  // a worker refers to its stage's graph: no reallocation
  for (size_t s = 0; s < parts_.size(); ++s) {
    const StagePart& part = parts_[s];
    const int device = options.devices[s];
    Stage& stage = stages_.emplace_back(
        Stage{make_graph(Sequential(part.modules), part.input), {}, {}, {}, {}, {}, {}, {}});
    if (stage.graph.nodes().size() != static_cast<size_t>(part.nodes))
      throw Error(bad_argument(kPipelineParallel, ": stage ", s, " alone has ",
                               counted(stage.graph.nodes().size(), "operation"), ", must have ", part.nodes,
                               " as in the whole network"));
    stage.part = parameters_of_stage(whole_, part, stage.graph);
    stage.worker = std::make_unique<Worker>(
        stage.graph, WorkerOptions{.device = device,
                                   .samples = samples,
                                   .micro_batches = micros,
                                   .input_gradient = s > 0,
                                   .seed = options.seed,
                                   .learning_rate = options.learning_rate,
                                   .operations = std::span(whole_.nodes())
                                                     .subspan(static_cast<size_t>(part.first_node),
                                                              static_cast<size_t>(part.nodes))});
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

// cudaFree() waits for one device only, and the others copy to its memory.
PipelineParallel::~PipelineParallel() {
  for (const Stage& stage : stages_)
    for (const cudaStream_t stream : {stage.worker->stream(), static_cast<cudaStream_t>(*stage.sending)})
      static_cast<void>(cudaStreamSynchronize(stream));
}

// Copies between the memories of two stages, concurrently with their computation.
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

// Runs one micro-batch through all stages and the loss: every F with one number in the picture.
void PipelineParallel::forward(int64_t micro, int64_t first, Loss loss) {
  const auto i = static_cast<size_t>(micro);
  for (size_t s = 0; s < stages_.size(); ++s) {
    Stage& stage = stages_[s];
    if (s > 0) {
      Stage& before = stages_[s - 1];
      send(before, before.worker->at(micro).output(), before.ready[i], stage, stage.worker->at(micro).input(),
           before.arrived[i]);
    }
    for (int node = 0; node < stage.worker->nodes(); ++node) stage.worker->forward(node, micro);
  }
  Replica& last = stages_.back().worker->at(micro);
  head_->run(loss, ConstTensor(last.output()).samples(), last.output_gradient().samples(), first);
}

// Runs one micro-batch backward through all stages: every B with one number.
void PipelineParallel::backward(int64_t micro, bool add) {
  const auto i = static_cast<size_t>(micro);
  for (size_t s = stages_.size(); s-- > 0;) {
    Stage& stage = stages_[s];
    for (int node = stage.worker->nodes() - 1; node >= 0; --node) stage.worker->backward(node, micro, add);
    if (s == 0) break;
    Stage& before = stages_[s - 1];
    send(stage, stage.worker->at(micro).input_gradient(), stage.gradient_ready[i], before,
         before.worker->at(micro).output_gradient(), stage.gradient_arrived[i]);
  }
}

void PipelineParallel::train_step(const Batch& batch) {
  const int64_t size = checked_size(kPipelineParallel, batch, whole_, options_.batch);
  const int64_t micros = std::min(options_.micro_batches, size);  // so that none is empty
  for (int64_t micro = 0; micro < micros; ++micro) {
    const Shard shard = shard_of(size, micro, micros);
    for (Stage& stage : stages_) stage.worker->at(micro).set_batch(shard.size, shard.first);
    Worker& first = *stages_[0].worker;
    first.uploads().enqueue(
        {upload_of(first.at(micro).input().as(), part_of(batch, size, shard.first, shard.size).x)});
  }
  stages_.back().worker->uploads().enqueue({upload_of_targets(*head_, batch)});
  for (int64_t micro = 0; micro < micros; ++micro)
    forward(micro, shard_of(size, micro, micros).first, batch.loss());
  for (int64_t micro = micros - 1; micro >= 0; --micro) backward(micro, micro < micros - 1);
  for (Stage& stage : stages_) stage.worker->update(1.0f / static_cast<float>(size));
}

std::vector<float> PipelineParallel::parameters() {
  std::vector<float> all(static_cast<size_t>(whole_.parameter_arena_size()), 0.0f);
  for (Stage& stage : stages_) put_parts(all, {stage.part}, parameters_of(stage.worker->replica()));
  return all;
}

std::vector<RankMemory> PipelineParallel::memory() const {
  std::vector<RankMemory> all;
  for (const Stage& stage : stages_) all.push_back(stage.worker->memory());
  all.back().buffers += LossHead::bytes(options_.batch, whole_.output().shape.size());
  return all;
}

}  // namespace rondo::nn
