#include <rondo/collectives/arguments.h>
#include <rondo/kernels/core/check.h>

#include <functional>

namespace rondo {

namespace {

Status check_one_a_rank(const char* operation, const char* argument, size_t size,
                        const Communicator& communicator) {
  if (static_cast<int>(size) == communicator.size()) return {};
  return bad_argument(operation, ": there are ", size, " ", argument, ", must be ", communicator.size(),
                      ", one for each rank of the communicator");
}

template <class T>
Status check_vector(const char* operation, const char* argument, int rank, VectorView<T> vector,
                    int64_t size) {
  if (vector.size != size)
    return bad_argument(operation, ": ", argument, "[", rank, "].size is ", vector.size, ", must be ", size,
                        " like outputs[0].size");
  Status status = check_view(operation, argument, vector);
  if (status.ok()) return status;
  return bad_argument(status.message(), ", at rank ", rank);
}

bool overlap(VectorView<const float> a, VectorView<const float> b) {
  // std::less orders pointers of different allocations too, and addresses are unique over all devices.
  constexpr std::less<const float*> before;
  return a.size > 0 && b.size > 0 && before(a.data, b.data + b.size) && before(b.data, a.data + a.size);
}

Status check_overlaps(const char* operation, const Operands& operands) {
  const int ranks = static_cast<int>(operands.outputs.size());
  for (int written = 0; written < ranks; ++written) {
    const VectorView<float> output = operands.output(written);
    for (int other = 0; other < ranks; ++other) {
      const VectorView<const float> input = operands.input(other);
      const bool same = written == other && input.data == output.data;
      if (!same && overlap(output, input))
        return bad_argument(operation, ": outputs[", written, "] overlaps inputs[", other, "], must ",
                            written == other ? "be the same or lie apart" : "lie apart");
      if (written < other && overlap(output, operands.output(other)))
        return bad_argument(operation, ": outputs[", written, "] overlaps outputs[", other,
                            "], must lie apart");
    }
  }
  return {};
}

// The null stream is every device's own.
Status check_device(const char* operation, const Communicator& communicator, int rank, cudaStream_t stream) {
  if (stream == nullptr) return {};
  int device = 0;
  RONDO_CUDA(cudaStreamGetDevice(stream, &device));
  if (device == communicator.device(rank)) return {};
  return bad_argument(operation, ": streams[", rank, "] is of device ", device, ", must be of device ",
                      communicator.device(rank), ", on which rank ", rank, " works");
}

}  // namespace

Status check_arguments(const char* operation, const Communicator& communicator, const Operands& operands,
                       std::span<const cudaStream_t> streams) {
  RONDO_RETURN_IF_ERROR(check_one_a_rank(operation, "outputs", operands.outputs.size(), communicator));
  if (!operands.in_place)
    RONDO_RETURN_IF_ERROR(check_one_a_rank(operation, "inputs", operands.inputs.size(), communicator));
  RONDO_RETURN_IF_ERROR(check_one_a_rank(operation, "streams", streams.size(), communicator));
  const int64_t size = operands.output(0).size;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    RONDO_RETURN_IF_ERROR(check_vector(operation, "outputs", rank, operands.output(rank), size));
    RONDO_RETURN_IF_ERROR(check_vector(operation, "inputs", rank, operands.input(rank), size));
    RONDO_RETURN_IF_ERROR(check_device(operation, communicator, rank, streams[static_cast<size_t>(rank)]));
  }
  return check_overlaps(operation, operands);
}

Status check_capture(const char* operation, std::span<const cudaStream_t> streams, bool& captured) {
  for (size_t rank = 0; rank < streams.size(); ++rank) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    RONDO_CUDA(cudaStreamIsCapturing(streams[rank], &status));
    const bool active = status == cudaStreamCaptureStatusActive;
    if (rank == 0) captured = active;
    if (active != captured)
      return bad_argument(operation, ": streams[", rank, "] is ", active ? "" : "not ",
                          "being captured and streams[0] is ", captured ? "" : "not",
                          ", all must be or none: fork them from the stream that began the capture");
  }
  return {};
}

}  // namespace rondo
