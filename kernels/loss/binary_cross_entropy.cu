#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementary.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/row_losses.cuh>
#include <rondo/kernels/reduce/rows.cuh>

namespace rondo {
namespace {

struct LossSum {
  float loss;
};

template <class T>
struct BinaryEntropy {
  using Type = T;
  using Part = LossSum;
  using Row = LossSum;
  static constexpr int kInputs = 2;
  MatrixView<T> gradient;
  MatrixView<const T> logits, targets;
  float* losses;
  const float *weights, *positive_weights;
  const double* divisor;  // null: 1
  float scale;

  __device__ __forceinline__ const T* input(int i, int64_t row) const {
    return i == 0 ? logits.data + row * logits.stride : targets.data + row * targets.stride;
  }
  __device__ __forceinline__ T* output(int64_t row) const {
    return gradient.data ? gradient.data + row * gradient.stride : nullptr;
  }
  // Without weights, `kWeighted` is false: loops without a test for each element become vectors.
  template <bool kWeighted>
  static __device__ __forceinline__ float weight(const float* of_columns, int col) {
    return kWeighted && of_columns ? of_columns[col] : 1.0f;
  }

  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    return weights || positive_weights ? sum<true>(team) : sum<false>(team);
  }
  template <bool kWeighted, class Team>
  __device__ __forceinline__ Part sum(Team& team) const {
    const int first = team.first();
    const float *const of_loss = weights, *const of_positive = positive_weights;
    float sum[1];
    team.sums(sum, [=](float(&values)[2], float(&sums)[1], int j) {
      const float z = values[0], t = values[1], log_part = log_of_one_plus(exp_of_negative(-fabsf(z)));
      const float of_yes = (z < 0 ? -z : 0.0f) + log_part, of_no = (z > 0 ? z : 0.0f) + log_part;
      const float positive = weight<kWeighted>(of_positive, first + j) * t;
      const float loss = fmaf(positive, of_yes, fmaf(1 - t, of_no, 0.0f));
      sums[0] = fmaf(weight<kWeighted>(of_loss, first + j), loss, sums[0]);
    });
    return {sum[0]};
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t) const {
    Row all = parts[0];
    for (int i = 1; i < count; ++i) all.loss += parts[i].loss;
    return all;
  }
  __device__ __forceinline__ void save(const Row& of_row, int64_t row) const { losses[row] = of_row.loss; }

  // With e = exp(-|z|), the sigmoids of z and -z are 1 / (1 + e) and e / (1 + e), or the reverse.
  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[2], const Row&, int col, bool) const {
    if (weights || positive_weights)
      to_gradient<true, Access>(in, col);
    else
      to_gradient<false, Access>(in, col);
  }
  template <bool kWeighted, class Access>
  __device__ __forceinline__ void to_gradient(typename Access::Pack (&in)[2], int col) const {
    const float factor = divisor ? scale / static_cast<float>(*divisor) : scale;
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) {
      const float z = in[0].v[k], t = in[1].v[k];
      const float e = exp_of_negative(-fabsf(z)), large = 1.0f / (1.0f + e), small = e * large;
      const float yes = z < 0 ? small : large, no = z < 0 ? large : small;
      const float positive = weight<kWeighted>(positive_weights, col + k) * t;
      const float slope = fmaf(1 - t, yes, fmaf(-positive, no, 0.0f));
      in[0].v[k] = slope * (weight<kWeighted>(weights, col + k) * factor);
    }
  }
};

template <class T>
Status launch_binary(MatrixView<T> gradient, float* loss, VectorView<float> losses,
                     MatrixView<const T> logits, MatrixView<const T> targets,
                     const BinaryCrossEntropyOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "binary_cross_entropy";
  ArgumentCheck check(kName);
  check.optional_output("gradient", gradient, {"logits"});
  check.output_value("loss", loss);
  check.optional_output("losses", losses);
  check.input("logits", logits);
  check.input("targets", targets);
  check.require(logits.cols <= INT32_MAX / 2, "logits.cols is ", logits.cols, ", must be at most ",
                INT32_MAX / 2);
  check.same_shape("targets", targets, "logits", logits);
  if (gradient.data) check.same_shape("gradient", gradient, "logits", logits);
  if (losses.data)
    check.require(losses.size == logits.rows, "losses.size is ", losses.size,
                  ", must be logits.rows = ", logits.rows);
  const auto of_columns = [&](const char* name, const VectorView<const float>& view) {
    check.optional_input(name, view);
    if (view.data)
      check.require(view.size == logits.cols, name, ".size is ", view.size,
                    ", must be logits.cols = ", logits.cols);
  };
  of_columns("weights", options.weights);
  of_columns("positive_weights", options.positive_weights);
  check.enumerator("reduction", options.reduction, LossReduction::sum);
  check.workspace(workspace, binary_cross_entropy_workspace_bytes(logits.rows, logits.cols));
  RONDO_RETURN_IF_ERROR(check.status());

  const losses::RowLossesMemory memory(workspace, logits.rows);
  const bool mean = options.reduction == LossReduction::mean;
  BinaryEntropy<T> operation = {};
  operation.gradient = gradient, operation.logits = logits, operation.targets = targets;
  operation.losses = losses.data ? losses.data : memory.losses;
  operation.weights = options.weights.data, operation.positive_weights = options.positive_weights.data;
  operation.divisor = mean ? memory.divisor : nullptr, operation.scale = options.scale;
  if (mean)
    RONDO_RETURN_IF_ERROR(losses::store_divisor(
        kName, memory.divisor, static_cast<double>(logits.rows) * static_cast<double>(logits.cols), stream));
  RONDO_RETURN_IF_ERROR(rows::row_operation(kName, operation, logits.rows, logits.cols,
                                            rows::rows_are_wide<T>({gradient, logits, targets}), memory.rest,
                                            stream));
  const int64_t with_loss = logits.cols > 0 ? logits.rows : 0;  // rows without columns have none
  return losses::add_losses(kName, loss, operation.losses, operation.divisor, with_loss, stream);
}

}  // namespace

int64_t binary_cross_entropy_workspace_bytes(int64_t rows, int64_t cols) {
  return losses::RowLossesMemory::bytes(rows, rows::workspace_bytes<BinaryEntropy<float>>(rows, cols));
}

template <InputType T>
Status binary_cross_entropy(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient, float* loss,
                            VectorView<float> losses, MatrixView<T> logits,
                            NonDeduced<MatrixView<const std::remove_const_t<T>>> targets,
                            const BinaryCrossEntropyOptions& options, Workspace workspace,
                            cudaStream_t stream) {
  return launch_binary<std::remove_const_t<T>>(gradient, loss, losses, logits, targets, options, workspace,
                                               stream);
}

#define RONDO_BINARY_CROSS_ENTROPY(T)                                                                    \
  template Status binary_cross_entropy<T>(MatrixView<std::remove_const_t<T>>, float*, VectorView<float>, \
                                          MatrixView<T>, MatrixView<const std::remove_const_t<T>>,       \
                                          const BinaryCrossEntropyOptions&, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_BINARY_CROSS_ENTROPY)

}  // namespace rondo
