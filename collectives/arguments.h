// The checks that every collective makes before anything happens. Since one process sees all ranks, a size, a type
// or a device that differs between ranks is found here, and not by a hang.
#pragma once

#include <rondo/collectives/collectives.h>

namespace rondo {

// What an operation writes and reads: one vector a rank, or, with a root, one vector of that rank alone.
template <class View>
struct Operand {
  const char* name;
  std::span<const View> views;
  int64_t size;     // that each must have
  const char* why;  // in words: "like the output of rank 0"
  int root = -1;    // >= 0: there is one vector, of this rank

  int count() const { return static_cast<int>(views.size()); }
  int rank(int index) const { return root >= 0 ? root : index; }
};

struct Arguments {
  const char* operation;
  const Communicator& communicator;
  Operand<DataView> written;
  Operand<ConstDataView> read;
  DType dtype;
  // In place, rank r's output lies in_place_blocks * r * block elements behind the beginning of its input.
  int in_place_blocks = 0;
  int64_t block = 0;
  bool may_be_in_place = true;
  bool across_processes = false;  // the operation can be one of several processes
};

// One vector and stream a rank; sizes, types and devices as they must be; nothing that is written overlaps anything
// else, in place excepted; the communicator was not aborted.
Status check_arguments(const Arguments& arguments, RankStreams streams);

Status check_state(const char* operation, const Communicator& communicator);
// One a rank, of its device; all are being captured into a graph, or none.
Status check_streams(const char* operation, const Communicator& communicator, RankStreams streams);

// Both are enumerators that exist.
Status check_reduction(const char* operation, Reduction reduction, SumOrder order);

// 1 to kMaxRanks inputs of the output's size and type, all in the memory of `device`; the output overlaps none, or is it.
Status check_on_device(const char* operation, DataView output, RankInputs inputs, int device);

// A communicator of one process, or an operation that several can do together.
Status check_one_process(const char* operation, const Communicator& communicator);

// No two vectors of all these lists overlap.
Status check_apart(const char* operation, std::span<const std::vector<DataView>> lists);

Status is_captured(cudaStream_t stream, bool& captured);

// `blocks` blocks of `block` elements each; a negative size or an overflow is a bad argument.
Status check_blocks(const char* operation, const char* argument, int blocks, int64_t block);

Status check_root(const char* operation, const Communicator& communicator, int root);

// `algorithm` is automatic or one of `known`.
Status check_algorithm(const char* operation, Algorithm algorithm, std::initializer_list<Algorithm> known);

// Each is an enumerator that exists, the algorithm is automatic or one of `known`, and the order of additions
// is one that the algorithm has.
Status check_options(const char* operation, const ReduceOptions& options,
                     std::initializer_list<Algorithm> known);

// The algorithm is one that several processes have, if there are several.
Status check_across_processes(const char* operation, const ReduceOptions& options,
                              const Communicator& communicator);

}  // namespace rondo
