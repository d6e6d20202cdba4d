// PartialSums: unfinished sums of several groups of ranks become one finished result.
#pragma once

#include <rondo/collectives/data_view.h>
#include <rondo/collectives/operation_builder.h>

namespace rondo {

// outputs[i] = finish(partial[0][i] (+) partial[1][i] (+) ...), in the order of the calls of read().
class PartialSums {
 public:
  // Of `size` elements of `dtype`; an average goes over `divisor` inputs.
  PartialSums(DType dtype, Reduction reduction, int64_t size, int divisor)
      : dtype_(dtype), partial_(accumulator_of(dtype, reduction)), reduction_(reduction) {
    finish_.size = add_.size = size;
    finish_.divisor = add_.divisor = divisor;
  }

  void read(ConstDataView partial) { add_.in[add_.inputs++] = partial.data; }
  void write(DataView output) { finish_.out[finish_.outputs++] = output.data; }

  // On the stream `sums` of `rank`. `scratch` has the partial type and may be one of what is read: where the data are
  // narrower than their partial sums, these are added there first.
  template <class... What>
  Status enqueue(OperationBuilder& builder, int rank, DataView scratch, const What&... what) {
    const cudaStream_t stream = builder.sums(rank);
    if (partial_ == dtype_) {
      add_.outputs = finish_.outputs;
      std::copy_n(finish_.out, finish_.outputs, add_.out);
      return builder.sum(rank, stream, dtype_, reduction_, SumOrder::left_to_right, add_, what...);
    }
    // An average is divided at its end only; everything else adds wide numbers as it adds narrow ones.
    const Reduction wide = reduction_ == Reduction::average ? Reduction::sum : reduction_;
    add_.out[add_.outputs++] = scratch.data;
    finish_.partial_in = scratch.data;
    RONDO_RETURN_IF_ERROR(builder.sum(rank, stream, partial_, wide, SumOrder::left_to_right, add_, what...));
    return builder.sum(rank, stream, dtype_, reduction_, SumOrder::left_to_right, finish_, "finish");
  }

 private:
  DType dtype_, partial_;
  Reduction reduction_;
  ReduceArguments add_, finish_;
};

}  // namespace rondo
