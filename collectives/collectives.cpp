// The operations: check the arguments, choose the algorithm, enqueue the work.
// Above 400 lines because all operations share these three steps.
#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/algorithms/direct.h>
#include <rondo/collectives/algorithms/hierarchical.h>
#include <rondo/collectives/algorithms/ring.h>
#include <rondo/collectives/algorithms/root.h>
#include <rondo/collectives/arguments.h>
#include <rondo/collectives/pack.h>
#include <rondo/kernels/core/counted.h>

#include <algorithm>

namespace rondo {

namespace {

// Enqueues the operation. A failure halfway leaves the ranks out of step, so it aborts the communicator, and
// the callers' streams wait for what was enqueued: their owner waits for them before it frees memory. A
// captured operation has not run anything: the ranks stay in step.
//
// What the communicator's streams are part of is checked under its lock: another thread may be capturing an
// operation.
template <class Work>
Status enqueue(const char* operation, Communicator& communicator, RankStreams streams, Work work) {
  StreamCapture capture;
  RONDO_RETURN_IF_ERROR(capture_of(streams[0], capture));
  Status status;
  bool in_step = true;
  {
    std::unique_lock lock(communicator.mutex());
    RONDO_RETURN_IF_ERROR(check_own_streams(operation, communicator, capture));
    OperationBuilder builder(operation, communicator, streams, capture.captured, std::move(lock));
    status = work(builder);
    if (status.ok()) return status;
    const bool recoverable =
        status.code() == StatusCode::bad_argument || status.code() == StatusCode::out_of_resources;
    in_step = capture.captured && recoverable;
    status = Status(status.code(), concat(operation, ", rank ", builder.current_rank(), " on device ",
                                          communicator.device(builder.current_rank()), ": ", status.message(),
                                          in_step ? "" : "; the results of all ranks are invalid"));
    if (!capture.captured) static_cast<void>(builder.join_after_failure());
  }
  if (!in_step) communicator.abort(status);
  return status;
}

Algorithm chosen(Algorithm asked, const Communicator& communicator, int64_t bytes, SumOrder order) {
  if (asked != Algorithm::automatic) return asked;
  if (communicator.exchange()) return Algorithm::hierarchical;
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
  RONDO_RETURN_IF_ERROR(builder.copy(0, builder.callers()[0], {output.data, 0}, {input.data, 0},
                                     input.bytes(), "copy own block"));
  return builder.end_barrier();
}

// A call that several processes make together. Nothing starts before all agree, and the processes' operations
// stay in the same order.
class SerializedCall {
 public:
  explicit SerializedCall(Communicator& communicator) : exchange_(communicator.exchange()) {
    if (exchange_) lock_ = std::unique_lock(exchange_->group().call_mutex());
  }

  // `checked`: the result of this process's own argument checks. `vectors`: those of its rank 0.
  Status agree(const char* operation, const Status& checked, std::span<const DataView> vectors,
               Reduction reduction) {
    if (!exchange_) return checked;
    if (exchange_->group().repeats()) {  // the recorded call was agreed on
      if (checked.ok()) exchange_->begin_operation();
      return checked;
    }
    Call call;
    call.communicator = exchange_->communicator();
    call.vectors = static_cast<int64_t>(vectors.size());
    call.reduction = reduction;
    if (!vectors.empty()) call.dtype = vectors[0].dtype;
    for (const DataView& vector : vectors) {
      call.size += vector.size;
      for (const auto part : {static_cast<uint64_t>(vector.size), static_cast<uint64_t>(vector.dtype)})
        call.shape = (call.shape ^ part) * 1099511628211u;
    }
    RONDO_RETURN_IF_ERROR(rondo::agree(exchange_->group(), operation, call, checked));
    exchange_->begin_operation();
    return {};
  }

 private:
  Exchange* exchange_;
  std::unique_lock<std::mutex> lock_;
};

// The inputs of an in-place call.
class SameInputs {
 public:
  explicit SameInputs(RankOutputs data) : size_(std::min<size_t>(data.size(), kMaxRanks)) {
    std::copy_n(data.begin(), size_, inputs_.begin());
  }
  operator RankInputs() const { return {inputs_.data(), size_}; }

 private:
  std::array<ConstDataView, kMaxRanks> inputs_;
  size_t size_;
};

template <class View>
View first_of(std::span<const View> views) {
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
                          const ReduceOptions& options) {
  const DataView first = outputs[0];
  if (first.size == 0) return {};
  if (builder.communicator().total_size() == 1) return keep_input(builder, first, inputs[0]);
  switch (chosen(options.algorithm, builder.communicator(), first.bytes(), options.order)) {
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
        check_all_reduce(operation, of_all, SameInputs(of_all), options, communicator, streams);
    if (!status.ok()) return Status(status.code(), concat(status.message(), ", in vector ", k));
  }
  return check_apart(operation, data);
}

// all_reduce_coalesced(), bucket by bucket.
class CoalescedReduce {
 public:
  CoalescedReduce(OperationBuilder& builder, std::span<const std::vector<DataView>> data,
                  const ReduceOptions& options)
      : builder_(builder), communicator_(builder.communicator()), data_(data), options_(options) {}

  Status run() {
    RONDO_RETURN_IF_ERROR(builder_.fork());
    builder_.use_own_streams();
    const std::vector<DataView>& vectors = data_[0];
    for (size_t first = 0; first < vectors.size();) {
      const size_t last = end_of_bucket(first);
      RONDO_RETURN_IF_ERROR(last - first == 1 ? reduce_alone(first) : reduce_bucket(first, last));
      first = last;
    }
    builder_.use_callers_streams();
    return builder_.join(OperationBuilder::Senders::prev);
  }

 private:
  // The end of a bucket that begins at `first`: as many vectors as have the same type and fit, at least one.
  size_t end_of_bucket(size_t first) const {
    const std::vector<DataView>& vectors = data_[0];
    const int64_t room = communicator_.options().bucket_bytes;
    const auto bytes_of = [&](size_t index) {  // each vector begins aligned, so its own size is sufficient
      return packed_size(part(0, index, index + 1)) * size_of(vectors[index].dtype);
    };
    size_t last = first + 1;
    for (int64_t bytes = bytes_of(first); last < vectors.size(); ++last) {
      bytes += bytes_of(last);
      if (vectors[last].dtype != vectors[first].dtype || bytes > room) break;
    }
    return last;
  }

  Status reduce_alone(size_t index) {
    for (int rank = 0; rank < builder_.ranks(); ++rank)
      views_[static_cast<size_t>(rank)] = part(rank, index, index + 1)[0];
    return enqueue_all_reduce(builder_, views(), SameInputs(views()), options_);
  }

  Status reduce_bucket(size_t first, size_t last) {
    const int64_t size = packed_size(part(0, first, last));
    for (int rank = 0; rank < builder_.ranks(); ++rank) {
      std::byte* bucket = communicator_.bucket(rank);
      views_[static_cast<size_t>(rank)] = {bucket, size, data_[0][first].dtype};
      RONDO_RETURN_IF_ERROR(builder_.on(rank, [&] {
        return pack(builder_.operation(), bucket, part(rank, first, last), builder_.sums(rank));
      }));
    }
    RONDO_RETURN_IF_ERROR(enqueue_all_reduce(builder_, views(), SameInputs(views()), options_));
    for (int rank = 0; rank < builder_.ranks(); ++rank)
      RONDO_RETURN_IF_ERROR(builder_.on(rank, [&] {
        return unpack(builder_.operation(), part(rank, first, last), communicator_.bucket(rank),
                      builder_.sums(rank));
      }));
    return {};
  }

  std::span<const DataView> part(int rank, size_t first, size_t last) const {
    return std::span(data_[static_cast<size_t>(rank)]).subspan(first, last - first);
  }
  RankOutputs views() const { return {views_.data(), static_cast<size_t>(builder_.ranks())}; }

  OperationBuilder& builder_;
  Communicator& communicator_;
  std::span<const std::vector<DataView>> data_;
  const ReduceOptions& options_;
  std::array<DataView, kMaxRanks> views_;
};

}  // namespace

Status all_reduce(RankOutputs outputs, RankInputs inputs, const ReduceOptions& options,
                  Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "all_reduce";
  SerializedCall call(communicator);
  RONDO_RETURN_IF_ERROR(call.agree(kName,
                                   check_all_reduce(kName, outputs, inputs, options, communicator, streams),
                                   outputs.first(std::min<size_t>(outputs.size(), 1)), options.reduction));
  return enqueue(kName, communicator, streams, [&](OperationBuilder& builder) {
    return enqueue_all_reduce(builder, outputs, inputs, options);
  });
}

Status all_reduce(RankOutputs data, const ReduceOptions& options, Communicator& communicator,
                  RankStreams streams) {
  return all_reduce(data, SameInputs(data), options, communicator, streams);
}

Status all_reduce_coalesced(std::span<const std::vector<DataView>> data, const ReduceOptions& options,
                            Communicator& communicator, RankStreams streams) {
  constexpr const char* kName = "all_reduce_coalesced";
  SerializedCall call(communicator);
  RONDO_RETURN_IF_ERROR(call.agree(kName, check_coalesced(kName, data, options, communicator, streams),
                                   data.empty() ? std::span<const DataView>() : data[0], options.reduction));
  if (data[0].empty()) return {};
  return enqueue(kName, communicator, streams,
                 [&](OperationBuilder& builder) { return CoalescedReduce(builder, data, options).run(); });
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
  for (const ConstDataView& input : inputs) all.in[all.inputs++] = input.data;
  all.out[all.outputs++] = output.data;
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
