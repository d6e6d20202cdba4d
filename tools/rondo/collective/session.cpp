#include <rondo/nn/train/step_graph.h>
#include <rondo/tools/rondo/collective/session.h>

#include <algorithm>

namespace rondo::program {
namespace {

// Fills the buffers with NaN or huge values, so that elements that the operation does not write are detected.
constexpr unsigned char kPoison = 0xFF;
constexpr int64_t kWidestElement = 8;

// Whether the verb reads this rank's input, and whether it writes this rank's output.
bool gives(const CollectiveCall& call, int rank) { return call.verb != Verb::broadcast || rank == call.root; }
bool receives(const CollectiveCall& call, int rank) { return call.verb != Verb::reduce || rank == call.root; }

// The expected contents of this rank's output.
Origin origin_of(const CollectiveCall& call, const Extent& extent, int rank) {
  switch (call.verb) {
    case Verb::reduce_scatter:
      return {.block = extent.count, .first_index = rank * extent.count};
    case Verb::all_gather:
      return {.block = extent.count};
    case Verb::all_to_all:
      return {.block = extent.count, .first_index = rank * extent.count};
    case Verb::broadcast:
      return {.block = extent.output, .first_rank = call.root};
    default:
      return {.block = extent.output};
  }
}

int64_t bytes_of_a_side(int64_t most_bytes, const SessionOptions& options) {
  return most_bytes + kWidestElement * options.misalign;
}

}  // namespace

int64_t Session::bytes_per_rank(int64_t most_bytes, const SessionOptions& options) {
  return 2 * bytes_of_a_side(most_bytes, options) + static_cast<int64_t>(sizeof(unsigned long long));
}

Session::Session(Engine& engine, int64_t most_bytes, const SessionOptions& options)
    : engine_(engine), options_(options), streams_(engine.devices()) {
  for (const int device : engine.devices()) {
    const DeviceScope scope(device);
    const int64_t bytes = bytes_of_a_side(most_bytes, options);
    inputs_.emplace_back(bytes);
    outputs_.emplace_back(bytes);
    wrong_.emplace_back(1);
  }
}

Session::Vectors Session::vectors(const CollectiveCall& call, int64_t elements, bool in_place) {
  const Extent extent = extent_of(call.verb, engine_.ranks(), elements);
  Vectors all{.extent = extent};
  for (int local = 0; local < local_ranks(); ++local) {
    const auto whole = [&](Buffer<std::byte>& buffer, int64_t size) {
      const DataView memory(buffer.data(), size + options_.misalign, call.dtype);
      return memory.part(options_.misalign, size);
    };
    DataView input = whole(inputs_[static_cast<size_t>(local)], extent.input);
    DataView output = whole(outputs_[static_cast<size_t>(local)], extent.output);
    if (in_place && extent.output >= extent.input) {  // the input is part of the output
      output = whole(inputs_[static_cast<size_t>(local)], extent.output);
      const int64_t begin = extent.input == extent.output ? 0 : rank(local) * extent.input;
      input = output.part(begin, extent.input);
    } else if (in_place) {
      output = input.part(rank(local) * extent.output, extent.output);
    }
    all.outputs.push_back(output);
    all.inputs.push_back(input);
    all.given.push_back(input);
  }
  return all;
}

void Session::enqueue(const CollectiveCall& call, const Vectors& vectors) {
  throw_if_error(engine_.enqueue(call, vectors.outputs, vectors.given, streams_.streams()));
}

// Runs on each rank's own stream, after the previous operation is complete.
void Session::prepare(const CollectiveCall& call, const Vectors& vectors, const ExactData& data) {
  streams_.synchronize();
  for (int local = 0; local < local_ranks(); ++local) {
    const auto at = static_cast<size_t>(local);
    const DeviceScope scope(streams_.device(local));
    const cudaStream_t stream = streams_.stream(local);
    for (const DataView& output : {vectors.outputs[at], vectors.inputs[at]})
      RONDO_CUDA_THROW(cudaMemsetAsync(output.data, kPoison, static_cast<size_t>(output.bytes()), stream));
    if (gives(call, rank(local))) throw_if_error(fill_exact(vectors.inputs[at], data, rank(local), stream));
  }
}

int64_t Session::count(const CollectiveCall& call, const Vectors& vectors, const ExactData& data) {
  int64_t wrong = 0;
  for (int local = 0; local < local_ranks(); ++local) {
    if (!receives(call, rank(local))) continue;
    const auto at = static_cast<size_t>(local);
    const DeviceScope scope(streams_.device(local));
    const cudaStream_t stream = streams_.stream(local);
    const DataView output = vectors.outputs[at];
    if (output.size == 0) continue;
    wrong_[at].fill_bytes(0);
    throw_if_error(
        count_wrong(wrong_[at].data(), output, data, origin_of(call, vectors.extent, rank(local)), stream));
    streams_.synchronize();
    wrong += static_cast<int64_t>(wrong_[at].download()[0]);
  }
  return wrong;
}

std::vector<double> Session::time(const CollectiveCall& call, const Vectors& vectors) {
  const auto iterate = [&](int times) {
    for (int i = 0; i < times; ++i) enqueue(call, vectors);
  };
  std::optional<StepGraph> graph;
  if (options_.graph_launches > 0) graph.emplace(streams_, [&] { iterate(options_.iterations); });
  iterate(options_.warmup);
  streams_.synchronize();
  if (graph && options_.warmup > 0) graph->launch();
  streams_.synchronize();

  std::vector<Event> begins, ends;
  for (int local = 0; local < local_ranks(); ++local) {
    const DeviceScope scope(streams_.device(local));
    begins.emplace_back(Event::Kind::timing);
    ends.emplace_back(Event::Kind::timing);
    RONDO_CUDA_THROW(cudaEventRecord(begins.back(), streams_.stream(local)));
  }
  if (graph) {
    for (int i = 0; i < options_.graph_launches; ++i) graph->launch();
    streams_.fork();  // the graph runs on the first stream; the other streams wait for it
  } else {
    iterate(options_.iterations);
  }
  for (int local = 0; local < local_ranks(); ++local) {
    const DeviceScope scope(streams_.device(local));
    RONDO_CUDA_THROW(cudaEventRecord(ends[static_cast<size_t>(local)], streams_.stream(local)));
  }
  streams_.synchronize();
  if (graph) throw_if_error(graph->refusal());  // without a graph the times would not be a graph's
  std::vector<double> seconds;
  const double times = options_.iterations * static_cast<double>(std::max(options_.graph_launches, 1));
  for (size_t local = 0; local < ends.size(); ++local) {
    float milliseconds = 0;
    RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, begins[local], ends[local]));
    seconds.push_back(milliseconds * 1e-3 / times);
  }
  return seconds;
}

Measured Session::measure(const CollectiveCall& call, int64_t elements, bool in_place, uint64_t seed) {
  const Vectors all = vectors(call, elements, in_place);
  Measured measured;
  for (int check = 0; check < options_.checks; ++check) {
    const ExactData data{.reduction = reduces(call.verb) ? std::optional(call.reduction) : std::nullopt,
                         .ranks = engine_.ranks(),
                         .seed = seed * 1000003 + static_cast<uint64_t>(check)};
    prepare(call, all, data);
    enqueue(call, all);
    streams_.synchronize();
    measured.wrong = measured.wrong.value_or(0) + count(call, all, data);
  }
  if (options_.checks == 0) prepare(call, all, ExactData{.ranks = engine_.ranks(), .seed = seed});
  measured.seconds = time(call, all);
  return measured;
}

void Session::run_once(const CollectiveCall& call, int64_t elements, Trace& trace) {
  const Vectors all = vectors(call, elements, false);
  enqueue(call, all);
  streams_.synchronize();
  engine_.set_trace(&trace);
  enqueue(call, all);
  engine_.set_trace(nullptr);
  streams_.synchronize();
}

}  // namespace rondo::program
