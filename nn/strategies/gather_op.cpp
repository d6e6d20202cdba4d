#include <rondo/nn/strategies/gather_op.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/data/columns.h>

#include <algorithm>

namespace rondo::nn {

namespace {

float* workspace_of(const OpContext& run) { return static_cast<float*>(run.workspace.data); }

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

float* GatherOp::forward_inbox(const OpContext& run, int from) const {
  return workspace_of(run) + rows(run.batch) * columns(from).first;
}

float* GatherOp::backward_inbox(const OpContext& run, int from) const {
  const auto slot = std::find(senders_.begin(), senders_.end(), from) - senders_.begin();
  return workspace_of(run) + slot * block_size(run.batch, rank_);
}

float* GatherOp::block_of(const OpContext& run, int to) const {
  if (to == rank_) return backward_inbox(run, rank_);
  return workspace_of(run) + inbox_size(run.batch) + rows(run.batch) * columns(to).first;
}

const float* GatherOp::outbox(const OpContext& run, int to) const { return block_of(run, to); }

Status GatherOp::forward(const OpContext& run) const {
  const int64_t rows = this->rows(run.batch), channels = whole_.channels;
  for (int from = 0; from < ranks_; ++from) {
    const Shard part = columns(from);
    if (part.size == 0) continue;
    const float* slice = from == rank_ ? run.inputs[0].data : forward_inbox(run, from);
    RONDO_RETURN_IF_ERROR(copy_columns(columns_of(run.output.data, rows, channels, part),
                                       matrix(slice, rows, part.size), run.stream));
  }
  return {};
}

Status GatherOp::pack(const OpContext& run) const {
  const int64_t rows = this->rows(run.batch), channels = whole_.channels;
  const float* partial = run.output_gradient.data;
  for (int to = 0; to < ranks_; ++to) {
    const Shard part = columns(to);
    RONDO_RETURN_IF_ERROR(copy_columns(matrix(block_of(run, to), rows, part.size),
                                       columns_of(partial, rows, channels, part), run.stream));
  }
  return {};
}

Status GatherOp::backward(const OpContext& run) const {
  const Shard own = columns(rank_);
  if (own.size == 0) return {};
  const int64_t rows = this->rows(run.batch);
  float* dx = run.input_gradients[0].data;
  if (senders_.empty()) {
    const float* complete = run.output_gradient.data;
    return copy_columns(matrix(dx, rows, own.size), columns_of(complete, rows, whole_.channels, own),
                        run.stream);
  }
  std::vector<ConstDataView> partial_sums;
  for (int from : senders_)
    partial_sums.push_back({backward_inbox(run, from), rows * own.size, DType::float32});
  return reduce_on_device({dx, rows * own.size, DType::float32}, partial_sums, Reduction::sum,
                          SumOrder::left_to_right, run.stream);
}

}  // namespace rondo::nn
