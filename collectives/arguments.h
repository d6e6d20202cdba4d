// The checks that every collective makes before anything happens. Since one process sees all ranks, a size
// that differs between ranks is found here, and not by a hang.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <span>

namespace rondo {

// What an operation writes and reads, one vector a rank. In place there are no inputs of their own.
struct Operands {
  std::span<const VectorView<float>> outputs;
  std::span<const VectorView<const float>> inputs;
  bool in_place = false;

  VectorView<float> output(int rank) const { return outputs[static_cast<size_t>(rank)]; }
  VectorView<const float> input(int rank) const {
    return in_place ? output(rank) : inputs[static_cast<size_t>(rank)];
  }
};

// One output, input and stream a rank; all vectors of one size; an input is the rank's output or overlaps no
// output; outputs do not overlap each other; every stream is of its rank's device.
Status check_arguments(const char* operation, const Communicator& communicator, const Operands& operands,
                       std::span<const cudaStream_t> streams);

// Whether the streams are being captured into a graph: all of them or none.
Status check_capture(const char* operation, std::span<const cudaStream_t> streams, bool& captured);

}  // namespace rondo
