// Argument checks of the collectives, made before anything is enqueued. One process has the arguments of all
// its ranks, so a size, type or device that differs between ranks returns an error instead of causing a hang.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/stream_capture.h>
#include <rondo/collectives/types.h>

#include <initializer_list>
#include <span>
#include <vector>

namespace rondo {

// The vectors that an operation writes or reads: one per rank, or, if it has a root, one vector of that rank.
template <class View>
struct Operand {
  const char* name;
  RankSpan<const View> views;
  int64_t size;     // required size of each vector
  const char* why;  // reason for the size, for the message: "like the output of rank 0"
  int root = -1;    // >= 0: there is a single vector, of this rank

  int count() const { return views.count(); }
  int rank(int index) const { return root >= 0 ? root : index; }
};

struct Arguments {
  const char* operation;
  const Communicator& communicator;
  Operand<DataView> written;
  Operand<ConstDataView> read;
  DType dtype;
  // In place, rank r's output begins in_place_blocks * r * block elements after the beginning of its input.
  int in_place_blocks = 0;
  int64_t block = 0;
  bool may_be_in_place = true;
  bool across_processes = false;  // the operation can run across several processes
};

// Checks that there is one vector and one stream per rank, their sizes, types and devices, that no output
// overlaps another vector except in place, and that the communicator was not aborted.
Status check_arguments(const Arguments& arguments, RankStreams streams);

Status check_state(const char* operation, const Communicator& communicator);
// Checks that there is one stream per rank, on that rank's device, and that all are part of one capture or
// none is captured.
Status check_streams(const char* operation, const Communicator& communicator, RankStreams streams);

// Checks that both are valid enumerators.
Status check_reduction(const char* operation, Reduction reduction, SumOrder order);

// Checks that there are 1 to kMaxRanks inputs of the output's size and type, that all vectors are in the
// memory of `device`, and that the output overlaps no input unless it is that input.
Status check_on_device(const char* operation, DataView output, RankInputs inputs, int device);

// Checks that the communicator has a single process.
Status check_one_process(const char* operation, const Communicator& communicator);

// Checks that no two vectors of all these lists overlap.
Status check_apart(const char* operation, std::span<const std::vector<DataView>> lists);

// Checks that the communicator's own streams are not part of another capture than the callers' streams.
// Enqueued work would invalidate both captures.
Status check_own_streams(const char* operation, const Communicator& communicator,
                         const StreamCapture& callers);

// Checks that the size of `blocks` blocks of `block` elements each is not negative and does not overflow.
Status check_blocks(const char* operation, const char* argument, int blocks, int64_t block);

Status check_root(const char* operation, const Communicator& communicator, int root);

// Checks that `algorithm` is automatic or one of `known`.
Status check_algorithm(const char* operation, Algorithm algorithm, std::initializer_list<Algorithm> known);

// Checks that all enumerators are valid, that the algorithm is automatic or one of `known`, and that the
// algorithm supports the order of additions.
Status check_options(const char* operation, const ReduceOptions& options,
                     std::initializer_list<Algorithm> known);

// With several processes: checks that the algorithm and the order of additions work across processes.
Status check_across_processes(const char* operation, const ReduceOptions& options,
                              const Communicator& communicator);

}  // namespace rondo
