// A row is reduced as that of a softmax is (softmax.cu). A part of it also has sums of what is linear in the
// logits: sum over j of t[j] * (z[j] - its largest logit), where t are the targets times the weights. With
// L = log(sum of exp(z - m)), the loss is then T * L - sum of t * (z - m), where T is the sum of t.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementary.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>
#include <rondo/kernels/loss/row_losses.cuh>
#include <rondo/kernels/reduce/rows.cuh>

namespace rondo {
namespace {

struct EntropyPart {
  float largest, sum;            // sum of exp(z - pivot)
  float pivot, linear, targets;  // sums of t * (z - pivot) and of t
  float label_logit;             // of the part that has it, otherwise 0
};

// Of the whole row, with its largest logit as pivot.
struct EntropySums {
  float largest, inverse, log_of_sum, linear, targets, label_logit;

  __device__ __forceinline__ EntropySums(const EntropyPart* parts, int count)
      : largest(-INFINITY), linear(0), targets(0), label_logit(0) {
    for (int i = 0; i < count; ++i) largest = fmaxf(largest, parts[i].largest);
    float sum = 0;
    for (int i = 0; i < count; ++i) {
      const EntropyPart& part = parts[i];
      sum = fmaf(part.sum, exp_of_negative(part.largest - largest), sum);
      linear += fmaf(part.targets, part.pivot - largest, part.linear);
      targets += part.targets;
      label_logit += part.label_logit;
    }
    sum += largest - largest;  // NaN if the largest logit is infinite
    inverse = 1.0f / sum;
    log_of_sum = log_of_one_plus(sum - 1.0f);
  }
  __device__ __forceinline__ float of_targets() const { return fmaf(targets, log_of_sum, -linear); }
};

struct EntropyRow {
  float largest, inverse, loss;
  // The gradient is total * p - t, and t[j] is spread * weight(j), and on_label more at the label.
  float total, spread, on_label;
  int label;
  bool counts;  // otherwise the gradient is 0
};

// What both kinds of targets have in common.
template <class T>
struct Entropy {
  using Type = T;
  using Part = EntropyPart;
  using Row = EntropyRow;
  MatrixView<T> gradient;
  MatrixView<const T> logits;
  float* losses;
  const float* weights;
  const double* divisor;  // of the loss; null: 1
  float smoothing, scale;

  __device__ __forceinline__ T* output(int64_t row) const {
    return gradient.data ? gradient.data + row * gradient.stride : nullptr;
  }
  __device__ __forceinline__ float weight(int64_t j) const { return weights ? weights[j] : 1.0f; }
  __device__ __forceinline__ float spread() const { return smoothing / static_cast<float>(logits.cols); }
  __device__ __forceinline__ float factor() const {
    return divisor ? scale / static_cast<float>(*divisor) : scale;
  }
  __device__ __forceinline__ void save(const Row& of_row, int64_t row) const { losses[row] = of_row.loss; }
  // The weights of the columns of an access.
  template <class Access>
  __device__ __forceinline__ typename Access::Pack weights_of(int col) const {
    if (weights) return Access::load(weights + col);
    typename Access::Pack ones;
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) ones.v[k] = 1;
    return ones;
  }
  // total * p of the logits, or of their exponentials.
  template <class Access>
  static __device__ __forceinline__ void to_probabilities(typename Access::Pack& values, const Row& of_row,
                                                          bool reduced) {
    if (!reduced) {
      RONDO_SIMD
      for (int k = 0; k < Access::kSize; ++k) values.v[k] = exp_of_negative(values.v[k] - of_row.largest);
    }
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k)
      values.v[k] = fmaf(values.v[k] * of_row.inverse, of_row.total, 0.0f);
  }
};

template <class T>
struct OfLabels : Entropy<T> {
  using Base = Entropy<T>;
  using typename Base::Part, typename Base::Row;
  static constexpr int kInputs = 1;
  const int32_t* labels;
  int ignored;

  __device__ __forceinline__ const T* input(int, int64_t row) const {
    return this->logits.data + row * this->logits.stride;
  }
  __device__ __forceinline__ bool is_class(int label) const {
    return label >= 0 && label < this->logits.cols && label != ignored;
  }
  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    Part part = {};
    const int first = team.first();
    // Read before the threads wait for each other: the gradient may replace the logits afterwards.
    if (team.count() > 0) {
      const int label = labels[team.row()];
      if (is_class(label) && label >= first && label < first + team.count())
        part.label_logit = static_cast<float>(input(0, team.row())[label]);
    }
    part.largest = team.max();
    part.pivot = part.largest == -INFINITY ? 0.0f : part.largest;
    const float pivot = part.pivot;
    if (this->smoothing == 0) {
      float sum[1];
      team.sums(sum, [=](float(&value)[1], float(&sums)[1], int) {
        value[0] = exp_of_negative(value[0] - pivot);
        sums[0] += value[0];
      });
      part.sum = sum[0];
      return part;
    }
    float sums[3];
    const float* const of_class = this->weights;
    team.sums(sums, [=](float(&value)[1], float(&to)[3], int j) {
      const float difference = value[0] - pivot, weight = of_class ? of_class[first + j] : 1.0f;
      value[0] = exp_of_negative(difference);
      to[0] += value[0];
      to[1] = fmaf(weight, difference, to[1]);
      to[2] += weight;
    });
    part.sum = sums[0], part.linear = sums[1], part.targets = sums[2];
    return part;
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t row) const {
    const EntropySums sums(parts, count);
    Row of_row = {};
    of_row.label = labels[row];
    if (!is_class(of_row.label)) {
      of_row.loss = of_row.label == ignored ? 0.0f : nanf("");
      return of_row;
    }
    const float smoothing = this->smoothing, factor = this->factor();
    const float on_label = (1 - smoothing) * this->weight(of_row.label), spread = this->spread();
    // Each product is rounded: no compiler fuses it with a sum.
    of_row.loss = fmaf(on_label, sums.log_of_sum + (sums.largest - sums.label_logit), 0.0f);
    float total = on_label;
    if (smoothing > 0) {
      of_row.loss = fmaf(spread, sums.of_targets(), of_row.loss);
      total = fmaf(spread, sums.targets, on_label);
    }
    of_row.largest = sums.largest, of_row.inverse = sums.inverse;
    of_row.total = total * factor, of_row.spread = spread * factor;
    of_row.on_label = fmaf(on_label, factor, 0.0f);
    of_row.counts = true;
    return of_row;
  }

  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[1], const Row& of_row, int col,
                                        bool reduced) const {
    this->template to_probabilities<Access>(in[0], of_row, reduced);
    if (of_row.spread != 0) {
      const auto weights = this->template weights_of<Access>(col);
      RONDO_SIMD
      for (int k = 0; k < Access::kSize; ++k) in[0].v[k] = fmaf(-of_row.spread, weights.v[k], in[0].v[k]);
    }
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) {
      const float value = in[0].v[k], at_label = value - of_row.on_label;
      in[0].v[k] = !of_row.counts ? 0.0f : col + k == of_row.label ? at_label : value;
    }
  }
};

template <class T>
struct OfProbabilities : Entropy<T> {
  using Base = Entropy<T>;
  using typename Base::Part, typename Base::Row;
  static constexpr int kInputs = 2;
  MatrixView<const T> targets;

  __device__ __forceinline__ const T* input(int i, int64_t row) const {
    return i == 0 ? this->logits.data + row * this->logits.stride : targets.data + row * targets.stride;
  }
  // The targets, smoothed and times their weights.
  template <class Access, class Packs>
  __device__ __forceinline__ void prepare(Packs& in, int64_t, int col) const {
    const float keep = 1 - this->smoothing, spread = this->spread();
    const auto weights = this->template weights_of<Access>(col);
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k)
      in[1].v[k] = fmaf(fmaf(keep, in[1].v[k], spread), weights.v[k], 0.0f);
  }
  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    Part part = {};
    part.largest = team.max();
    part.pivot = part.largest == -INFINITY ? 0.0f : part.largest;
    const float pivot = part.pivot;
    float sums[3];
    team.sums(sums, [=](float(&values)[2], float(&to)[3], int) {
      const float difference = values[0] - pivot;
      values[0] = exp_of_negative(difference);
      to[0] += values[0];
      to[1] = fmaf(values[1], difference, to[1]);
      to[2] += values[1];
    });
    part.sum = sums[0], part.linear = sums[1], part.targets = sums[2];
    return part;
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t) const {
    const EntropySums sums(parts, count);
    Row of_row = {};
    of_row.largest = sums.largest, of_row.inverse = sums.inverse, of_row.loss = sums.of_targets();
    of_row.spread = this->factor();
    of_row.total = sums.targets * of_row.spread;
    return of_row;
  }

  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[2], const Row& of_row, int,
                                        bool reduced) const {
    this->template to_probabilities<Access>(in[0], of_row, reduced);
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) in[0].v[k] = fmaf(-of_row.spread, in[1].v[k], in[0].v[k]);
  }
};

template <class T>
void check_entropy(ArgumentCheck& check, const MatrixView<T>& gradient, float* loss,
                   const VectorView<float>& losses, const MatrixView<const T>& logits,
                   const CrossEntropyOptions& options, Workspace workspace) {
  check.optional_output("gradient", gradient, {"logits"});
  check.output_value("loss", loss);
  check.optional_output("losses", losses);
  check.input("logits", logits);
  check.require(logits.rows <= 0 || (logits.cols >= 1 && logits.cols <= INT32_MAX / 2), "logits.cols is ",
                logits.cols, ", must be in [1, ", INT32_MAX / 2, "]");
  if (gradient.data) check.same_shape("gradient", gradient, "logits", logits);
  if (losses.data)
    check.require(losses.size == logits.rows, "losses.size is ", losses.size,
                  ", must be logits.rows = ", logits.rows);
  check.optional_input("class_weights", options.class_weights);
  if (options.class_weights.data)
    check.require(options.class_weights.size == logits.cols, "class_weights.size is ",
                  options.class_weights.size, ", must be logits.cols = ", logits.cols);
  check.require(options.label_smoothing >= 0 && options.label_smoothing <= 1, "label_smoothing is ",
                options.label_smoothing, ", must be from 0 to 1");  // false for NaN
  check.enumerator("reduction", options.reduction, LossReduction::sum);
  check.workspace(workspace, cross_entropy_workspace_bytes(logits.rows, logits.cols));
}

// `set_divisor` starts the kernel that writes it.
template <class Operation, class T, class SetDivisor>
Status launch_entropy(const char* name, Operation operation, float* loss, const VectorView<float>& losses,
                      const CrossEntropyOptions& options, bool wide, Workspace workspace, cudaStream_t stream,
                      const MatrixView<const T>& logits, SetDivisor set_divisor) {
  const losses::RowLossesMemory memory(workspace, logits.rows);
  operation.losses = losses.data ? losses.data : memory.losses;
  operation.weights = options.class_weights.data;
  operation.smoothing = options.label_smoothing, operation.scale = options.scale;
  if (options.reduction == LossReduction::mean) {
    RONDO_RETURN_IF_ERROR(set_divisor(memory.divisor));
    operation.divisor = memory.divisor;
  }
  RONDO_RETURN_IF_ERROR(
      rows::row_operation(name, operation, logits.rows, logits.cols, wide, memory.rest, stream));
  return losses::add_losses(name, loss, operation.losses, operation.divisor, logits.rows, stream);
}

template <class T>
Status launch_of_labels(MatrixView<T> gradient, float* loss, VectorView<float> losses,
                        MatrixView<const T> logits, VectorView<const int32_t> labels,
                        const CrossEntropyOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "cross_entropy";
  ArgumentCheck check(kName);
  check_entropy(check, gradient, loss, losses, logits, options, workspace);
  check.input("labels", labels);
  check.require(labels.size == logits.rows, "labels.size is ", labels.size,
                ", must be logits.rows = ", logits.rows);
  RONDO_RETURN_IF_ERROR(check.status());
  OfLabels<T> operation = {};
  operation.gradient = gradient, operation.logits = logits;
  operation.labels = labels.data, operation.ignored = options.ignore_index;
  return launch_entropy(kName, operation, loss, losses, options,
                        rows::rows_are_wide<T>({gradient, logits}, options.class_weights.data), workspace,
                        stream, logits, [&](double* divisor) {
                          return losses::add_weights(kName, divisor, labels, options.class_weights.data,
                                                     logits.cols, options.ignore_index, stream);
                        });
}

template <class T>
Status launch_of_probabilities(MatrixView<T> gradient, float* loss, VectorView<float> losses,
                               MatrixView<const T> logits, MatrixView<const T> targets,
                               const CrossEntropyOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "cross_entropy_of_probabilities";
  ArgumentCheck check(kName);
  check_entropy(check, gradient, loss, losses, logits, options, workspace);
  check.input("targets", targets);
  check.same_shape("targets", targets, "logits", logits);
  RONDO_RETURN_IF_ERROR(check.status());
  OfProbabilities<T> operation = {};
  operation.gradient = gradient, operation.logits = logits, operation.targets = targets;
  return launch_entropy(kName, operation, loss, losses, options,
                        rows::rows_are_wide<T>({gradient, logits, targets}, options.class_weights.data),
                        workspace, stream, logits, [&](double* divisor) {
                          return losses::store_divisor(kName, divisor, static_cast<double>(logits.rows),
                                                       stream);
                        });
}

}  // namespace

int64_t cross_entropy_workspace_bytes(int64_t rows, int64_t classes) {
  return losses::RowLossesMemory::bytes(rows, rows::workspace_bytes<OfLabels<float>>(rows, classes));
}

template <InputType T>
Status cross_entropy(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient, float* loss,
                     VectorView<float> losses, MatrixView<T> logits, VectorView<const int32_t> labels,
                     const CrossEntropyOptions& options, Workspace workspace, cudaStream_t stream) {
  return launch_of_labels<std::remove_const_t<T>>(gradient, loss, losses, logits, labels, options, workspace,
                                                  stream);
}

template <InputType T>
Status cross_entropy_of_probabilities(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient, float* loss,
                                      VectorView<float> losses, MatrixView<T> logits,
                                      NonDeduced<MatrixView<const std::remove_const_t<T>>> targets,
                                      const CrossEntropyOptions& options, Workspace workspace,
                                      cudaStream_t stream) {
  return launch_of_probabilities<std::remove_const_t<T>>(gradient, loss, losses, logits, targets, options,
                                                         workspace, stream);
}

#define RONDO_WEIGHTED_CROSS_ENTROPY(T)                                                                  \
  template Status cross_entropy<T>(MatrixView<std::remove_const_t<T>>, float*, VectorView<float>,        \
                                   MatrixView<T>, VectorView<const int32_t>, const CrossEntropyOptions&, \
                                   Workspace, cudaStream_t);                                             \
  template Status cross_entropy_of_probabilities<T>(                                                     \
      MatrixView<std::remove_const_t<T>>, float*, VectorView<float>, MatrixView<T>,                      \
      MatrixView<const std::remove_const_t<T>>, const CrossEntropyOptions&, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_WEIGHTED_CROSS_ENTROPY)

}  // namespace rondo
