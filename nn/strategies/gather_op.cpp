#include <rondo/nn/strategies/gather_op.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/data/columns.h>

#include <algorithm>

namespace rondo::nn {

namespace {

float* workspace_of(const OpContext& context) { return static_cast<float*>(context.workspace.data); }

template <class T>
MatrixView<T> columns_of(T* whole, int64_t rows, int64_t channels, Shard columns) {
  return {whole + columns.first, rows, columns.size, channels};
}

}  // namespace

// Forward: the slices of all ranks. Backward: one slice of this rank's size per sender.
int64_t GatherOp::inbox_size(int64_t batch) const {
  const int64_t widest = (whole_.channels + ranks_ - 1) / ranks_;
  return rows(batch) * widest * ranks_;
}

int64_t GatherOp::workspace_bytes(int64_t batch) const {
  return (inbox_size(batch) + rows(batch) * whole_.channels) * static_cast<int64_t>(sizeof(float));
}

float* GatherOp::forward_inbox(const OpContext& context, int from) const {
  return workspace_of(context) + rows(context.batch) * columns(from).first;
}

float* GatherOp::backward_inbox(const OpContext& context, int from) const {
  const auto slot = std::find(senders_.begin(), senders_.end(), from) - senders_.begin();
  return workspace_of(context) + slot * block_size(context.batch, rank_);
}

float* GatherOp::block_of(const OpContext& context, int to) const {
  if (to == rank_) return backward_inbox(context, rank_);
  return workspace_of(context) + inbox_size(context.batch) + rows(context.batch) * columns(to).first;
}

const float* GatherOp::outbox(const OpContext& context, int to) const { return block_of(context, to); }

Status GatherOp::forward(const OpContext& context) const {
  const int64_t rows = this->rows(context.batch), channels = whole_.channels;
  for (int from = 0; from < ranks_; ++from) {
    const Shard part = columns(from);
    if (part.size == 0) continue;
    const float* slice = from == rank_ ? context.inputs[0].as() : forward_inbox(context, from);
    RONDO_RETURN_IF_ERROR(copy_columns(columns_of(context.output.as(), rows, channels, part),
                                       matrix(slice, rows, part.size), context.stream));
  }
  return {};
}

Status GatherOp::pack(const OpContext& context) const {
  const int64_t rows = this->rows(context.batch), channels = whole_.channels;
  const float* partial = context.output_gradient.as();
  for (int to = 0; to < ranks_; ++to) {
    const Shard part = columns(to);
    RONDO_RETURN_IF_ERROR(copy_columns(matrix(block_of(context, to), rows, part.size),
                                       columns_of(partial, rows, channels, part), context.stream));
  }
  return {};
}

Status GatherOp::backward(const OpContext& context) const {
  const Shard own = columns(rank_);
  if (own.size == 0) return {};
  const int64_t rows = this->rows(context.batch);
  float* dx = context.input_gradients[0].as();
  if (senders_.empty()) {
    const float* complete = context.output_gradient.as();
    return copy_columns(matrix(dx, rows, own.size), columns_of(complete, rows, whole_.channels, own),
                        context.stream);
  }
  std::vector<ConstDataView> partial_sums;
  for (int from : senders_)
    partial_sums.push_back({backward_inbox(context, from), rows * own.size, DType::float32});
  return reduce_on_device({dx, rows * own.size, DType::float32}, partial_sums, Reduction::sum,
                          SumOrder::left_to_right, context.stream);
}

}  // namespace rondo::nn
