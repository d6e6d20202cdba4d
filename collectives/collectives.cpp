// The operations: each checks the arguments, chooses an algorithm, and enqueues its work.
#include <rondo/collectives/algorithms/algorithms.h>
#include <rondo/collectives/arguments.h>
#include <rondo/collectives/buckets.h>
#include <rondo/collectives/call.h>
#include <rondo/collectives/collectives.h>
#include <rondo/kernels/core/counted.h>

namespace rondo {

namespace {

Algorithm chosen(Algorithm asked, const Communicator& communicator, int64_t bytes, SumOrder order) {
  if (asked != Algorithm::automatic) return asked;
  if (communicator.options().processes) return Algorithm::hierarchical;
  if (order != SumOrder::left_to_right) return Algorithm::direct;
  return choose(communicator.size(), bytes, communicator.options().links, communicator.all_reach_all());
}

Algorithm ring_or_direct(Algorithm asked, const Communicator& communicator, int64_t bytes, SumOrder order) {
  const Algorithm algorithm = chosen(asked, communicator, bytes, order);
  return algorithm == Algorithm::root ? Algorithm::direct : algorithm;
}

// The operation of a single rank: the output is the input.
Status keep_input(OperationBuilder& builder, DataView output, ConstDataView input) {
  if (output.data == input.data) return {};
  RONDO_RETURN_IF_ERROR(builder.begin_barrier());
  RONDO_RETURN_IF_ERROR(builder.copy(0, builder.caller(0), 0, output.data, 0, input, "copy own block"));
  return builder.end_barrier();
}

PerRank<ConstDataView> as_inputs(RankOutputs data) { return {data.begin(), data.end()}; }

template <class View>
View first_of(RankSpan<const View> views) {
  return views.empty() ? View{} : views[0];
}

Status check_all_reduce(const char* operation, RankOutputs outputs, RankInputs inputs,
                        const ReduceOptions& options, const Communicator& communicator, RankStreams streams) {
  const DataView first = first_of(outputs);
  RONDO_RETURN_IF_ERROR(check_options(
      operation, options, {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical}));
  RONDO_RETURN_IF_ERROR(check_across_processes(operation, options, communicator));
  Arguments arguments = {operation,
                         communicator,
                         {"output", outputs, first.size, "like the output of rank 0"},
                         {"input", inputs, first.size, "like the output of rank 0"},
                         first.dtype};
  arguments.across_processes = true;
  return check_arguments(arguments, streams);
}

Status enqueue_all_reduce(OperationBuilder& builder, RankOutputs outputs, RankInputs inputs,
                          const ReduceOptions& options, const Communicator& communicator) {
  const DataView first = outputs[0];
  if (first.size == 0) return {};
  if (communicator.total_size() == 1) return keep_input(builder, first, inputs[0]);
  switch (chosen(options.algorithm, communicator, first.bytes(), options.order)) {
    case Algorithm::direct:
      return direct::all_reduce(builder, outputs, inputs, options);
    case Algorithm::root:
      return root::all_reduce(builder, outputs, inputs, options);
    case Algorithm::hierarchical:
      return hierarchical::all_reduce(builder, outputs, inputs, options.reduction);
    default:
      return ring::all_reduce(builder, outputs, inputs, options.reduction);
  }
}

// Checks that all lists have the same length, vector k of all ranks as all_reduce() does, and that vectors of
// different k do not overlap.
Status check_coalesced(const char* operation, std::span<const std::vector<DataView>> data,
                       const ReduceOptions& options, const Communicator& communicator, RankStreams streams) {
  if (static_cast<int>(data.size()) != communicator.size())
    return bad_argument(operation, ": ", there_are(data.size(), "list"), " of vectors, must be ",
                        communicator.size(), ", one for each rank of the communicator");
  if (communicator.options().bucket_bytes == 0)
    return bad_argument(operation, ": the communicator was made with bucket_bytes 0, must be above 0");
  for (size_t rank = 0; rank < data.size(); ++rank)
    if (data[rank].size() != data[0].size())
      return bad_argument(operation, ": rank ", rank, " has ", data[rank].size(), " vectors, must have ",
                          data[0].size(), " like rank 0");
  std::vector<DataView> of_all(data.size());
  for (size_t k = 0; k < data[0].size(); ++k) {
    for (size_t rank = 0; rank < data.size(); ++rank) of_all[rank] = data[rank][k];
    const Status status =
        check_all_reduce(operation, of_all, as_inputs(of_all), options, communicator, streams);
    if (!status.ok()) return Status(status.code(), concat(status.message(), ", in vector ", k));
  }
  return check_apart(operation, data);
}

}  // namespace

Status all_reduce(RankOutputs outputs, RankInputs inputs, const ReduceOptions& options,
                  Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "all_reduce";
  SerializedCall call(communicator);
  RONDO_RETURN_IF_ERROR(call.agree(kName,
                                   check_all_reduce(kName, outputs, inputs, options, communicator, streams),
                                   outputs.first(outputs.empty() ? 0 : 1), options.reduction));
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    return enqueue_all_reduce(builder, outputs, inputs, options, communicator);
  });
}

Status all_reduce(RankOutputs data, const ReduceOptions& options, Communicator& communicator,
                  RankStreams streams) {
  return all_reduce(data, as_inputs(data), options, communicator, streams);
}

Status all_reduce_coalesced(std::span<const std::vector<DataView>> data, const ReduceOptions& options,
                            Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "all_reduce_coalesced";
  SerializedCall call(communicator);
  RONDO_RETURN_IF_ERROR(call.agree(kName, check_coalesced(kName, data, options, communicator, streams),
                                   data.empty() ? std::span<const DataView>() : data[0], options.reduction));
  if (data[0].empty()) return {};
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    return reduce_in_buckets(builder, data, [&](OperationBuilder& inner, RankOutputs vectors) {
      return enqueue_all_reduce(inner, vectors, as_inputs(vectors), options, communicator);
    });
  });
}

Status reduce_scatter(RankOutputs outputs, RankInputs inputs, const ReduceOptions& options,
                      Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "reduce_scatter";
  const int ranks = communicator.size();
  const DataView first = first_of(outputs);
  RONDO_RETURN_IF_ERROR(check_options(kName, options, {Algorithm::ring, Algorithm::direct}));
  RONDO_RETURN_IF_ERROR(check_blocks(kName, "output", ranks, first.size));
  RONDO_RETURN_IF_ERROR(
      check_arguments({kName,
                       communicator,
                       {"output", outputs, first.size, "like the output of rank 0"},
                       {"input", inputs, first.size * ranks, "for a block of each rank's output"},
                       first.dtype,
                       1,
                       first.size},
                      streams));
  if (first.size == 0) return {};
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    if (ranks == 1) return keep_input(builder, first, inputs[0]);
    if (ring_or_direct(options.algorithm, communicator, first.bytes() * ranks, options.order) ==
        Algorithm::direct)
      return direct::reduce_scatter(builder, outputs, inputs, options);
    return ring::reduce_scatter(builder, outputs, inputs, options.reduction);
  });
}

Status all_gather(RankOutputs outputs, RankInputs inputs, Algorithm algorithm, Communicator& communicator,
                  RankStreams streams) {
  constexpr const char* kName = "all_gather";
  const int ranks = communicator.size();
  const ConstDataView first = first_of(inputs);
  RONDO_RETURN_IF_ERROR(check_algorithm(kName, algorithm, {Algorithm::ring, Algorithm::direct}));
  RONDO_RETURN_IF_ERROR(check_blocks(kName, "input", ranks, first.size));
  RONDO_RETURN_IF_ERROR(
      check_arguments({kName,
                       communicator,
                       {"output", outputs, first.size * ranks, "for a block of each rank's input"},
                       {"input", inputs, first.size, "like the input of rank 0"},
                       first.dtype,
                       -1,
                       first.size},
                      streams));
  if (first.size == 0) return {};
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    if (ranks == 1) return keep_input(builder, outputs[0], first);
    if (ring_or_direct(algorithm, communicator, first.bytes() * ranks, {}) == Algorithm::direct)
      return direct::all_gather(builder, outputs, inputs);
    return ring::all_gather(builder, outputs, inputs);
  });
}

Status broadcast(RankOutputs outputs, ConstDataView input, int root, Algorithm algorithm,
                 Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "broadcast";
  RONDO_RETURN_IF_ERROR(check_root(kName, communicator, root));
  RONDO_RETURN_IF_ERROR(check_algorithm(kName, algorithm, {Algorithm::ring, Algorithm::direct}));
  RONDO_RETURN_IF_ERROR(check_arguments({kName,
                                         communicator,
                                         {"output", outputs, input.size, "like the input"},
                                         {"input", {&input, 1}, input.size, "", root},
                                         input.dtype},
                                        streams));
  if (input.size == 0) return {};
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    if (builder.ranks() == 1) return keep_input(builder, outputs[0], input);
    if (ring_or_direct(algorithm, communicator, input.bytes(), {}) == Algorithm::direct)
      return direct::broadcast(builder, outputs, input, root);
    return ring::broadcast(builder, outputs, input, root);
  });
}

Status reduce(DataView output, RankInputs inputs, int root, const ReduceOptions& options,
              Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "reduce";
  RONDO_RETURN_IF_ERROR(check_root(kName, communicator, root));
  RONDO_RETURN_IF_ERROR(check_options(kName, options, {Algorithm::ring, Algorithm::direct}));
  RONDO_RETURN_IF_ERROR(check_arguments({kName,
                                         communicator,
                                         {"output", {&output, 1}, output.size, "", root},
                                         {"input", inputs, output.size, "like the output"},
                                         output.dtype},
                                        streams));
  if (output.size == 0) return {};
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    if (builder.ranks() == 1) return keep_input(builder, output, inputs[0]);
    if (ring_or_direct(options.algorithm, communicator, output.bytes(), options.order) == Algorithm::direct)
      return direct::reduce(builder, output, inputs, root, options);
    return ring::reduce(builder, output, inputs, root, options.reduction);
  });
}

Status all_to_all(RankOutputs outputs, RankInputs inputs, Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "all_to_all";
  const ConstDataView first = first_of(inputs);
  if (first.size % communicator.size() != 0)
    return bad_argument(kName, ": the input of rank 0 has ", counted(first.size, "element"),
                        ", must have a multiple of ", communicator.size(), ", a block for each rank");
  Arguments arguments = {kName,
                         communicator,
                         {"output", outputs, first.size, "like the input of rank 0"},
                         {"input", inputs, first.size, "like the input of rank 0"},
                         first.dtype};
  arguments.may_be_in_place = false;
  RONDO_RETURN_IF_ERROR(check_arguments(arguments, streams));
  if (first.size == 0) return {};
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    if (builder.ranks() == 1) return keep_input(builder, outputs[0], first);
    return direct::all_to_all(builder, outputs, inputs);
  });
}

Status reduce_on_device(DataView output, RankInputs inputs, Reduction reduction, SumOrder order,
                        cudaStream_t stream) {
  constexpr const char* kName = "reduce_on_device";
  RONDO_RETURN_IF_ERROR(check_reduction(kName, reduction, order));
  int device = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  RONDO_RETURN_IF_ERROR(check_on_device(kName, output, inputs, device));
  ReduceArguments all;
  all.size = output.size;
  all.divisor = static_cast<int>(inputs.size());
  for (const ConstDataView& input : inputs) all.read(input.data);
  all.write(output.data);
  return reduce_vectors(kName, output.dtype, reduction, order, all, stream);
}

Status barrier(Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "barrier";
  RONDO_RETURN_IF_ERROR(check_state(kName, communicator));
  RONDO_RETURN_IF_ERROR(check_one_process(kName, communicator));
  RONDO_RETURN_IF_ERROR(check_streams(kName, communicator, streams));
  return enqueue(kName, communicator, streams,
                 [](OperationBuilder& builder) { return builder.begin_barrier(); });
}

}  // namespace rondo
