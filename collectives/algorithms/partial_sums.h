// PartialSums: adds the unfinished sums of several groups of ranks and finishes the result.
#pragma once

#include <rondo/collectives/operation_builder.h>

#include <algorithm>

namespace rondo {

// outputs[i] = finish(partial[0][i] (+) partial[1][i] (+) ...), in the order of the calls of read().
class PartialSums {
 public:
  // For `size` elements of `dtype`. The type of the partial sums, `partial`, is accumulator_of() that type,
  // or the type itself if the partial sums are single inputs. An average divides by `divisor`.
  PartialSums(DType dtype, DType partial, Reduction reduction, int64_t size, int divisor)
      : dtype_(dtype), partial_(partial), reduction_(reduction) {
    finish_.size = add_.size = size;
    finish_.divisor = add_.divisor = divisor;
  }

  // `rank` has the memory.
  void read(ConstDataView partial, int rank) {
    add_.read(partial.data);
    peers_.read.push_back(rank);
  }
  void write(DataView output, int rank) {
    finish_.write(output.data);
    peers_.written.push_back(rank);
  }

  // Enqueues on the stream `sums` of `rank`. `scratch` has the partial type and may be one of the inputs. If
  // the data type is narrower than the partial type, the partial sums are added there before they are
  // finished; otherwise `scratch` is not used.
  template <class... What>
  Status enqueue(OperationBuilder& builder, int rank, DataView scratch, const What&... what) {
    const cudaStream_t stream = builder.sums(rank);
    if (partial_ == dtype_) {
      add_.outputs = finish_.outputs;
      std::copy_n(finish_.out, finish_.outputs, add_.out);
      return builder.sum(rank, stream, dtype_, reduction_, SumOrder::left_to_right, add_, peers_, what...);
    }
    // Only the last step divides an average; otherwise the reduction is the same for the partial type.
    const Reduction wide = reduction_ == Reduction::average ? Reduction::sum : reduction_;
    add_.write(scratch.data);
    finish_.partial_in = scratch.data;
    RONDO_RETURN_IF_ERROR(builder.sum(rank, stream, partial_, wide, SumOrder::left_to_right, add_,
                                      SumPeers{peers_.read, {}}, what...));
    return builder.sum(rank, stream, dtype_, reduction_, SumOrder::left_to_right, finish_,
                       SumPeers{{}, peers_.written}, "finish");
  }

 private:
  DType dtype_, partial_;
  Reduction reduction_;
  ReduceArguments add_, finish_;
  SumPeers peers_;
};

}  // namespace rondo
