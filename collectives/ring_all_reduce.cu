// The ring all-reduce.
//
// Four words. A *rank* is a participant: a device (or a part of one), a stream, a vector. A *chunk* is one of
// the n parts that the vector is cut into. A *step* is the time in which every rank sends one chunk to its
// right neighbour and receives one from its left; there are 2(n-1) of them. A *slot* is scratch memory of a
// rank, into which its left neighbour puts a chunk that must still be added.
//
// Who sends what at which step is written in ring_schedule.h; here is how a step becomes work on streams.
// Each rank does all its work on the one stream that the caller gave it, and no stream ever waits for the
// host, nor a kernel for another kernel. What must happen in order between two ranks is tied by events:
//
//   sent    rank r's copy is done         -> the right neighbour may use the chunk
//   freed   rank r has read its slot      -> the left neighbour may fill the slot again
//
//   reduce-scatter      rank r's stream                  rank r + 1's stream
//                       wait for freed[slot] of r + 1
//                       copy my chunk to r + 1's slot
//                       record sent                      wait for sent of r
//                                                        my chunk = slot + my chunk
//                                                        record freed[slot]
//   all-gather          copy my chunk to r + 1's output
//                       record sent                      wait for sent of r
//
// In the all-gather a rank writes straight into its neighbour's output, without asking. That is safe: the
// finished chunk contains the neighbour's own share, so the neighbour has long sent the chunk on, and every
// event between that moment and this one lies on the path which the chunk took.
//
// A rank has two slots, used in turn, so that it can still add from one while the next chunk arrives in the
// other. The operation begins by declaring all slots free, on their owners' streams: whatever used them
// before was enqueued there earlier. So no event reaches from one operation into the next, and a recorded
// graph is complete in itself.
//
// One event serves all steps: cudaStreamWaitEvent waits for the record that is the latest when it is called,
// and later records don't change that. The loops below call it in exactly this order, which is why one host
// thread at a time may use a communicator.
#include <rondo/collectives/all_reduce.h>
#include <rondo/collectives/arguments.h>
#include <rondo/kernels/core/trace.h>
#include <rondo/kernels/core/elementwise.cuh>

namespace rondo {

namespace {

constexpr const char* kOperation = "all_reduce";

struct Sum {
  __device__ float operator()(float received, float own) const { return received + own; }
};

// The current device is the caller's business: it is put back.
class CallersDevice {
 public:
  CallersDevice() { static_cast<void>(cudaGetDevice(&device_)); }
  ~CallersDevice() { static_cast<void>(cudaSetDevice(device_)); }
  CallersDevice(const CallersDevice&) = delete;
  CallersDevice& operator=(const CallersDevice&) = delete;

 private:
  int device_ = 0;
};

class Ring {
 public:
  Ring(const Operands& operands, Communicator& communicator, std::span<const cudaStream_t> streams,
       bool captured)
      : operands_(operands),
        communicator_(communicator),
        streams_(streams),
        captured_(captured),
        ranks_(communicator.size()) {}

  Status run() {
    const int64_t count = operands_.output(0).size;
    const int64_t piece =
        ranks_ * (communicator_.slot_bytes() / kElementBytes);  // its chunks just fit a slot
    for (int rank = 0; rank < ranks_; ++rank) RONDO_RETURN_IF_ERROR(free_all_slots(rank));
    for (begin_ = 0; begin_ < count; begin_ += piece) {
      count_ = std::min(piece, count - begin_);
      for (int step = 0; step < ring::steps(ranks_); ++step) {
        for (int rank = 0; rank < ranks_; ++rank) RONDO_RETURN_IF_ERROR(send(rank, step));
        for (int rank = 0; rank < ranks_; ++rank) RONDO_RETURN_IF_ERROR(receive(rank, step));
      }
    }
    return {};
  }

 private:
  static constexpr int64_t kElementBytes = sizeof(float);

  Status free_all_slots(int rank) {
    RONDO_CUDA(cudaSetDevice(communicator_.device(rank)));
    for (int slot = 0; slot < ring::kSlots; ++slot)
      RONDO_RETURN_IF_ERROR(record(communicator_.freed(rank, slot), rank));
    return {};
  }

  // `rank` sends a chunk to its right neighbour: at first its own share, then the sums that it made, then
  // the finished chunks.
  Status send(int rank, int step) {
    const int index = ring::sent_chunk(rank, step, ranks_);
    const ring::Chunk chunk = chunk_at(index);
    if (chunk.size == 0) return {};
    const int right = ring::right_of(rank, ranks_);
    const float* from = (step == 0 ? operands_.input(rank).data : operands_.output(rank).data) + chunk.begin;
    float* to = operands_.output(right).data + chunk.begin;
    RONDO_CUDA(cudaSetDevice(communicator_.device(rank)));
    if (ring::phase_of(step, ranks_) == ring::Phase::reduce_scatter) {
      RONDO_RETURN_IF_ERROR(wait(rank, communicator_.freed(right, ring::slot_of(step))));
      to = slot(right, step);
    }
    {
      const Trace::Scope span = trace_span(communicator_.trace(), rank, "copy", "ring", stream(rank),
                                           "send chunk ", index, " to rank ", right, ", step ", step);
      RONDO_RETURN_IF_ERROR(copy(to, right, from, rank, chunk.size));
    }
    return record(communicator_.sent(rank), rank);
  }

  // `rank` waits for the chunk from its left neighbour, and in the reduce-scatter adds it to its own share.
  Status receive(int rank, int step) {
    const int index = ring::received_chunk(rank, step, ranks_);
    const ring::Chunk chunk = chunk_at(index);
    if (chunk.size == 0) return {};
    RONDO_CUDA(cudaSetDevice(communicator_.device(rank)));
    RONDO_RETURN_IF_ERROR(wait(rank, communicator_.sent(ring::left_of(rank, ranks_))));
    if (ring::phase_of(step, ranks_) == ring::Phase::all_gather) return {};
    {
      const Trace::Scope span = trace_span(communicator_.trace(), rank, "sum", "ring", stream(rank),
                                           "add chunk ", index, ", step ", step);
      RONDO_RETURN_IF_ERROR(
          elementwise(kOperation, stream(rank), Sum{}, operands_.output(rank).data + chunk.begin, chunk.size,
                      static_cast<const float*>(slot(rank, step)), operands_.input(rank).data + chunk.begin));
    }
    return record(communicator_.freed(rank, ring::slot_of(step)), rank);
  }

  // A copy of `size` elements on the sender's stream. cudaMemcpyPeerAsync is right for every pair of devices,
  // connected or not, but can't be captured; the plain copy can, and finds the devices by the addresses.
  Status copy(float* to, int to_rank, const float* from, int from_rank, int64_t size) {
    const size_t bytes = static_cast<size_t>(size * kElementBytes);
    const int to_device = communicator_.device(to_rank), from_device = communicator_.device(from_rank);
    if (captured_ || to_device == from_device)
      RONDO_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream(from_rank)));
    else
      RONDO_CUDA(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream(from_rank)));
    return {};
  }

  Status wait(int rank, cudaEvent_t event) {
    RONDO_CUDA(cudaStreamWaitEvent(stream(rank), event, cudaEventWaitDefault));
    return {};
  }
  Status record(cudaEvent_t event, int rank) {
    RONDO_CUDA(cudaEventRecord(event, stream(rank)));
    return {};
  }

  cudaStream_t stream(int rank) const { return streams_[static_cast<size_t>(rank)]; }
  float* slot(int rank, int step) {
    return reinterpret_cast<float*>(communicator_.slot(rank, ring::slot_of(step)));
  }

  // Where a chunk of this pass lies in the whole vectors.
  ring::Chunk chunk_at(int index) const {
    const ring::Chunk chunk = ring::chunk_of(count_, ranks_, index, kElementBytes);
    return {begin_ + chunk.begin, chunk.size};
  }

  const Operands& operands_;
  Communicator& communicator_;
  std::span<const cudaStream_t> streams_;
  bool captured_;
  int ranks_;
  int64_t begin_ = 0;  // this pass works on elements [begin_, begin_ + count_)
  int64_t count_ = 0;
};

// A ring of one rank has no step.
Status copy_input_to_output(const Operands& operands, int device, cudaStream_t stream) {
  const VectorView<float> output = operands.output(0);
  const VectorView<const float> input = operands.input(0);
  if (input.data == output.data) return {};
  RONDO_CUDA(cudaSetDevice(device));
  RONDO_CUDA(cudaMemcpyAsync(output.data, input.data, static_cast<size_t>(output.size) * sizeof(float),
                             cudaMemcpyDefault, stream));
  return {};
}

Status all_reduce(const Operands& operands, Communicator& communicator,
                  std::span<const cudaStream_t> streams) {
  RONDO_RETURN_IF_ERROR(check_arguments(kOperation, communicator, operands, streams));
  bool captured = false;
  RONDO_RETURN_IF_ERROR(check_capture(kOperation, streams, captured));
  if (operands.output(0).size == 0) return {};
  const CallersDevice restore;
  if (communicator.size() == 1) return copy_input_to_output(operands, communicator.device(0), streams[0]);
  return Ring(operands, communicator, streams, captured).run();
}

}  // namespace

Status all_reduce(std::span<const VectorView<float>> outputs, std::span<const VectorView<const float>> inputs,
                  Communicator& communicator, std::span<const cudaStream_t> streams) {
  return all_reduce(Operands{outputs, inputs}, communicator, streams);
}

Status all_reduce(std::span<const VectorView<float>> data, Communicator& communicator,
                  std::span<const cudaStream_t> streams) {
  return all_reduce(Operands{data, {}, true}, communicator, streams);
}

}  // namespace rondo
