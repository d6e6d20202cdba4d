#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/collectives/arguments.h>
#include <rondo/collectives/rank_resources.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/overlap.h>
#include <rondo/kernels/core/text.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <ostream>
#include <string>

namespace rondo {

namespace {

Status check_one_a_rank(const char* operation, const char* argument, size_t size,
                        const Communicator& communicator) {
  if (static_cast<int>(size) == communicator.size()) return {};
  return bad_argument(operation, ": ", there_are(size, argument), ", must be ", communicator.size(),
                      ", one for each rank of the communicator");
}

// The name of an enumerator; for an invalid value (from a cast) its number.
template <class Enum>
std::string described(Enum value, std::span<const Enum> all) {
  return std::find(all.begin(), all.end(), value) != all.end() ? std::string(name_of(value))
                                                               : exact_text(static_cast<int>(value));
}

// The names of all, separated by commas.
template <class Enum>
std::string names_of(std::span<const Enum> all) {
  std::string names;
  for (const Enum value : all) names += concat(names.empty() ? "" : ", ", name_of(value));
  return names;
}

// Identifies a vector in a message; formatted only if there is an error.
struct Whose {
  const char* name;
  const char* number_of;  // " of rank ", or nothing
  int number;
  friend std::ostream& operator<<(std::ostream& out, const Whose& w) {
    return out << "the " << w.name << w.number_of << w.number;
  }
};

Status check_memory(const char* operation, Whose whose, ConstDataView view, int device) {
  if (view.size == 0) return {};
  const auto fail = [&](const auto&... why) { return bad_argument(operation, ": ", whose, " ", why...); };
  if (!view.data) return fail("is null with ", counted(view.size, "element"));
  if (reinterpret_cast<uintptr_t>(view.data) % static_cast<uintptr_t>(size_of(view.dtype)) != 0)
    return fail("is at ", view.data, ", must be aligned to ", counted(size_of(view.dtype), "byte"));
  cudaPointerAttributes attributes{};
  RONDO_CUDA(cudaPointerGetAttributes(&attributes, view.data));
  if (attributes.type == cudaMemoryTypeManaged) return {};
  if (attributes.type != cudaMemoryTypeDevice)
    return fail("is at ", view.data, ", which is not a device's memory, must be of device ", device);
  if (attributes.device == device) return {};
  return fail("is in the memory of device ", attributes.device, ", must be in that of device ", device);
}

Status check_type(const char* operation, Whose whose, DType dtype) {
  constexpr std::span<const DType> kAll = kDTypes;
  if (std::find(kAll.begin(), kAll.end(), dtype) != kAll.end()) return {};
  return bad_argument(operation, ": ", whose, " is of the type ", described(dtype, kAll),
                      ", must be one of: ", names_of(kAll));
}

template <class View>
Status check_types(const Arguments& a, const Operand<View>& operand) {
  for (int index = 0; index < operand.count(); ++index)
    RONDO_RETURN_IF_ERROR(check_type(a.operation, {operand.name, " of rank ", operand.rank(index)},
                                     operand.views[index].dtype));
  return {};
}

// Checks a vector's size, type and memory. Both dtypes must be valid.
Status check_vector(const char* operation, Whose whose, ConstDataView view, int64_t size, const char* why,
                    DType dtype, int device) {
  const auto fail = [&](const auto&... parts) { return bad_argument(operation, ": ", whose, " ", parts...); };
  if (view.size < 0) return fail("has the size ", view.size, ", must not be negative");
  if (view.size > kMostVectorBytes / size_of(view.dtype))
    return fail("has ", counted(view.size, "element"), ", must have at most ",
                kMostVectorBytes / size_of(view.dtype), " of ", name_of(view.dtype));
  if (view.size != size) return fail("has ", counted(view.size, "element"), ", must have ", size, " ", why);
  if (view.dtype != dtype) return fail("is ", name_of(view.dtype), ", must be ", name_of(dtype));
  return check_memory(operation, whose, view, device);
}

template <class View>
Status check_operand(const Arguments& a, const Operand<View>& operand) {
  if (operand.root < 0)
    RONDO_RETURN_IF_ERROR(check_one_a_rank(a.operation, operand.name, operand.views.size(), a.communicator));
  for (int index = 0; index < operand.count(); ++index) {
    const int rank = operand.rank(index);
    RONDO_RETURN_IF_ERROR(check_vector(a.operation, {operand.name, " of rank ", rank}, operand.views[index],
                                       operand.size, operand.why, a.dtype, a.communicator.device(rank)));
  }
  return {};
}

// Addresses are unique across devices.
bool overlap(ConstDataView a, ConstDataView b) {
  return rondo::overlap(MemoryExtent::packed(a.data, a.bytes()), MemoryExtent::packed(b.data, b.bytes()));
}

bool in_place(const Arguments& a, int rank, ConstDataView output, ConstDataView input) {
  if (!a.may_be_in_place) return false;
  const int64_t distance = a.in_place_blocks * rank * a.block * size_of(a.dtype);
  return static_cast<const std::byte*>(output.data) == static_cast<const std::byte*>(input.data) + distance;
}

Status check_overlaps(const Arguments& a) {
  for (int i = 0; i < a.written.count(); ++i) {
    const ConstDataView output = a.written.views[i];
    const int writer = a.written.rank(i);
    const auto fail = [&](const char* what, int rank, const char* must) {
      return bad_argument(a.operation, ": the ", a.written.name, " of rank ", writer, " overlaps the ", what,
                          " of rank ", rank, ", must ", must);
    };
    for (int j = 0; j < a.read.count(); ++j) {
      const ConstDataView input = a.read.views[j];
      const int reader = a.read.rank(j);
      const bool own = writer == reader;
      if (!overlap(output, input) || (own && in_place(a, writer, output, input))) continue;
      return fail(a.read.name, reader,
                  own && a.may_be_in_place ? "be exactly in place or lie apart" : "lie apart");
    }
    for (int j = i + 1; j < a.written.count(); ++j)
      if (overlap(output, a.written.views[j])) return fail(a.written.name, a.written.rank(j), "lie apart");
  }
  return {};
}

// `first`: the capture of the stream of rank 0.
Status check_capture(const char* operation, RankStreams streams, StreamCapture& first) {
  size_t apart = 0;  // the first rank of another capture
  for (size_t rank = 0; rank < streams.size(); ++rank) {
    StreamCapture capture;
    RONDO_RETURN_IF_ERROR(capture_of(streams[rank], capture));
    if (rank == 0) first = capture;
    if (capture.captured != first.captured)
      return bad_argument(operation, ": the stream of rank ", rank, " is ", capture.captured ? "" : "not ",
                          "being captured and that of rank 0 ", first.captured ? "is" : "is not",
                          ", all must be or none: fork them from the stream that began the capture");
    if (apart == 0 && capture.id != first.id) apart = rank;
  }
  if (apart == 0) return {};
  return bad_argument(operation, ": the stream of rank ", apart,
                      " is part of another capture than that of rank 0, must be of the same: fork them from ",
                      "the stream that began the capture");
}

Status check_devices(const char* operation, const Communicator& communicator, RankStreams streams) {
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const cudaStream_t stream = streams[rank];
    if (stream == nullptr) continue;  // the null stream belongs to every device
    int device = 0;
    const cudaError_t error = cudaStreamGetDevice(stream, &device);
    if (error == cudaErrorCallRequiresNewerDriver) {  // older than CUDA 12.8: the device is not known
      static_cast<void>(cudaGetLastError());
      break;
    }
    RONDO_RETURN_IF_ERROR(from_cuda(error, concat(operation, ": the device of the stream of rank ", rank)));
    if (device != communicator.device(rank))
      return bad_argument(operation, ": the stream of rank ", rank, " is of device ", device,
                          ", must be of device ", communicator.device(rank), ", on which the rank works");
  }
  return {};
}

}  // namespace

Status check_state(const char* operation, const Communicator& communicator) {
  const Status state = communicator.state();
  if (state.ok()) return {};
  return Status(state.code(), concat(operation, ": the communicator was aborted: ", state.message()));
}

Status check_streams(const char* operation, const Communicator& communicator, RankStreams streams) {
  RONDO_RETURN_IF_ERROR(check_one_a_rank(operation, "stream", streams.size(), communicator));
  StreamCapture capture;
  RONDO_RETURN_IF_ERROR(check_capture(operation, streams, capture));
  // CUDA does not tell the device of a captured stream.
  if (!capture.captured) RONDO_RETURN_IF_ERROR(check_devices(operation, communicator, streams));
  // enqueue() makes this check, too, but only after the processes have agreed on the call.
  return communicator.options().processes ? check_own_streams(operation, communicator, capture) : Status();
}

// Only the stream of rank 0 is checked: fork() adds it to a capture first, and the others follow.
Status check_own_streams(const char* operation, const Communicator& communicator,
                         const StreamCapture& callers) {
  if (callers.captured && callers.id == 0) return {};  // CUDA refuses every call for it
  StreamCapture own;
  RONDO_RETURN_IF_ERROR(capture_of(communicator.resources().of(0).copies, own));
  if (!own.captured || own.id == callers.id) return {};
  return bad_argument(
      operation, ": the communicator is part of a capture that has not ended, ",
      callers.captured ? "and the streams are part of another one" : "and the streams are not captured",
      "; must be of the same capture, or called after its end");
}

Status check_arguments(const Arguments& arguments, RankStreams streams) {
  RONDO_RETURN_IF_ERROR(check_state(arguments.operation, arguments.communicator));
  if (!arguments.across_processes)
    RONDO_RETURN_IF_ERROR(check_one_process(arguments.operation, arguments.communicator));
  RONDO_RETURN_IF_ERROR(check_types(arguments, arguments.written));
  RONDO_RETURN_IF_ERROR(check_types(arguments, arguments.read));
  RONDO_RETURN_IF_ERROR(check_operand(arguments, arguments.written));
  RONDO_RETURN_IF_ERROR(check_operand(arguments, arguments.read));
  RONDO_RETURN_IF_ERROR(check_streams(arguments.operation, arguments.communicator, streams));
  return check_overlaps(arguments);
}

Status check_on_device(const char* operation, DataView output, RankInputs inputs, int device) {
  if (inputs.empty() || inputs.count() > kMaxRanks)
    return bad_argument(operation, ": ", there_are(inputs.size(), "input"), ", must be 1 to ", kMaxRanks);
  RONDO_RETURN_IF_ERROR(check_type(operation, {"output", " ", 0}, output.dtype));
  RONDO_RETURN_IF_ERROR(
      check_vector(operation, {"output", " ", 0}, output, output.size, "", output.dtype, device));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Whose whose = {"input", " ", static_cast<int>(i)};
    RONDO_RETURN_IF_ERROR(check_type(operation, whose, inputs[i].dtype));
    RONDO_RETURN_IF_ERROR(
        check_vector(operation, whose, inputs[i], output.size, "like the output", output.dtype, device));
    if (overlap(output, inputs[i]) && output.data != inputs[i].data)
      return bad_argument(operation, ": the output overlaps ", whose, ", must be it or lie apart");
  }
  return {};
}

Status check_one_process(const char* operation, const Communicator& communicator) {
  const ProcessGroup* processes = communicator.options().processes;
  if (!processes) return {};
  return bad_argument(operation, ": the communicator has ranks in ",
                      counted(processes->size(), "process", "processes"),
                      ", must be of one process for all but all_reduce and all_reduce_coalesced");
}

Status check_apart(const char* operation, std::span<const std::vector<DataView>> lists) {
  struct Range {
    const std::byte* begin;
    const std::byte* end;
    size_t rank, index;
  };
  std::vector<Range> ranges;
  for (size_t rank = 0; rank < lists.size(); ++rank)
    for (size_t index = 0; index < lists[rank].size(); ++index) {
      const DataView& view = lists[rank][index];
      const auto* begin = static_cast<const std::byte*>(view.data);
      if (view.size > 0) ranges.push_back({begin, begin + view.bytes(), rank, index});
    }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return std::less<const std::byte*>()(a.begin, b.begin); });
  for (size_t i = 1; i < ranges.size(); ++i) {
    const Range &a = ranges[i - 1], &b = ranges[i];
    if (std::less<const std::byte*>()(b.begin, a.end))
      return bad_argument(operation, ": vector ", b.index, " of rank ", b.rank, " overlaps vector ", a.index,
                          " of rank ", a.rank, ", must lie apart");
  }
  return {};
}

Status check_blocks(const char* operation, const char* argument, int blocks, int64_t block) {
  constexpr int64_t kMostElements = std::numeric_limits<int64_t>::max() / 8;  // of 8 bytes each
  if (block < 0)
    return bad_argument(operation, ": the ", argument, " of rank 0 has the size ", block,
                        ", must not be negative");
  if (block <= kMostElements / blocks) return {};
  return bad_argument(operation, ": the ", argument, " of rank 0 has ", counted(block, "element"),
                      ", must have at most ", kMostElements / blocks, " for ", counted(blocks, "rank"));
}

Status check_root(const char* operation, const Communicator& communicator, int root) {
  if (root >= 0 && root < communicator.size()) return {};
  return bad_argument(operation, ": root is ", root, ", must be at least 0 and below ", communicator.size(),
                      ", the number of ranks");
}

Status check_algorithm(const char* operation, Algorithm algorithm, std::initializer_list<Algorithm> known) {
  if (algorithm == Algorithm::automatic || std::find(known.begin(), known.end(), algorithm) != known.end())
    return {};
  constexpr Algorithm kAll[] = {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::root,
                                Algorithm::hierarchical};
  return bad_argument(operation, ": the algorithm is ", described<Algorithm>(algorithm, kAll),
                      ", must be one of: automatic, ", names_of<Algorithm>({known.begin(), known.end()}));
}

Status check_reduction(const char* operation, Reduction reduction, SumOrder order) {
  constexpr std::span<const Reduction> kAll = kReductions;
  if (std::find(kAll.begin(), kAll.end(), reduction) == kAll.end())
    return bad_argument(operation, ": the reduction is ", described(reduction, kAll),
                        ", must be one of: ", names_of(kAll));
  if (order != SumOrder::left_to_right && order != SumOrder::balanced_tree)
    return bad_argument(operation, ": the order is ", static_cast<int>(order),
                        ", must be left_to_right or balanced_tree");
  return {};
}

Status check_options(const char* operation, const ReduceOptions& options,
                     std::initializer_list<Algorithm> known) {
  const Algorithm algorithm = options.algorithm;
  RONDO_RETURN_IF_ERROR(check_algorithm(operation, algorithm, known));
  RONDO_RETURN_IF_ERROR(check_reduction(operation, options.reduction, options.order));
  if (options.order == SumOrder::left_to_right ||
      (algorithm != Algorithm::ring && algorithm != Algorithm::hierarchical))
    return {};
  return bad_argument(operation, ": the order is a balanced tree, which the algorithm ", name_of(algorithm),
                      " does not have; must be direct, root or automatic");
}

Status check_across_processes(const char* operation, const ReduceOptions& options,
                              const Communicator& communicator) {
  const ProcessGroup* processes = communicator.options().processes;
  if (!processes) return {};
  if (options.algorithm != Algorithm::automatic && options.algorithm != Algorithm::hierarchical)
    return bad_argument(operation, ": the algorithm is ", name_of(options.algorithm),
                        ", must be hierarchical or automatic across ",
                        counted(processes->size(), "process", "processes"));
  if (options.order != SumOrder::left_to_right)
    return bad_argument(operation, ": the order is a balanced tree, must be from left to right across ",
                        counted(processes->size(), "process", "processes"));
  return {};
}

}  // namespace rondo
