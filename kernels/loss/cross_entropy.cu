// For few classes each thread processes a row. For many classes the threads of a team share a row (rows.cuh).
// Rows or blocks of rows write their loss statistics, and a last block adds them in a fixed tree. If there is
// only one block of rows, it adds to the caller's loss_stats directly.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementary.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/reduce/rows.cuh>

#include <cub/block/block_reduce.cuh>

#include <algorithm>
#include <numeric>

namespace rondo {
namespace {

constexpr int kThreads = 128;
constexpr int kMaxClassesPerThread = 64;  // above this, a row is long enough for several threads

struct AddStats {
  __device__ LossStats operator()(const LossStats& a, const LossStats& b) const {
    return {a.loss + b.loss, a.correct + b.correct, a.rows + b.rows, a.bad_labels + b.bad_labels};
  }
};

struct Shared {
  cub::BlockReduce<LossStats, kThreads>::TempStorage loss_stats;
};

// Softmax of a row in terms of its largest logit m: `others` is the sum of exp(z[j] - m) over all j but the
// first with z[j] == m. The sum of all exponentials is 1 + others, so a confident prediction (others << 1)
// loses nothing to rounding.
struct Softmax {
  float largest, others;

  // If the largest logit is infinite, infinity minus infinity is NaN, and the whole row becomes NaN.
  __device__ Softmax(float largest, float sum_of_others)
      : largest(largest), others(sum_of_others + (largest - largest)) {}

  __device__ float probability(float logit) const {
    return exp_of_negative(logit - largest) / (1.0f + others);
  }

  // d loss / d logit of the label
  __device__ float label_gradient(float logit) const {
    return logit == largest ? -others / (1.0f + others) : probability(logit) - 1.0f;
  }

  __device__ float loss(float label_logit) const { return log_of_one_plus(others) + (largest - label_logit); }
  // `first`: no class before the label has as large a logit.
  __device__ bool is_correct(float label_logit, bool first) const {
    return label_logit == largest && first && others == others;
  }
};

__device__ LossStats stats_of(bool label_is_class, float loss, bool correct) {
  return label_is_class ? LossStats{loss, correct, 1, 0} : LossStats{nan(""), 0, 1, 1};
}

// Called by all threads of the block, each with its own statistics. Writes the block's sum for the next pass.
__device__ void finish_block(LossStats thread_stats, LossStats* loss_stats, LossStats* partial) {
  const LossStats sum = cub::BlockReduce<LossStats, kThreads>(shared_memory<Shared>().loss_stats)
                            .Reduce(thread_stats, AddStats());
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1)
    *loss_stats = AddStats()(*loss_stats, sum);
  else
    partial[blockIdx.x] = sum;
}

// N divides the number of classes, and rows begin at multiples of N elements.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    row_per_thread_kernel(MatrixView<T> gradient, LossStats* loss_stats, LossStats* partial,
                          MatrixView<const T> logits, const int32_t* labels, float scale) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  LossStats row_stats = {};
  if (row < logits.rows) {
    const int classes = static_cast<int>(logits.cols);
    const int label = labels[row];
    const T* z = logits.data + row * logits.stride;
    float largest = static_cast<float>(z[0]);
    int first = 0;  // the first class with it
    for (int j = 0; j < classes; j += N) {
      const auto logit = load_values<N>(z + j);
#pragma unroll
      for (int k = 0; k < N; ++k)
        if (logit.v[k] > largest) largest = logit.v[k], first = j + k;
    }
    float others = 0;
    for (int j = 0; j < classes; j += N) {
      const auto logit = load_values<N>(z + j);
#pragma unroll
      for (int k = 0; k < N; ++k)
        if (j + k != first) others += exp_of_negative(logit.v[k] - largest);
    }
    const Softmax softmax(largest, others);

    const bool good = label >= 0 && label < classes;
    const float label_logit = good ? static_cast<float>(z[label]) : 0.0f;
    row_stats = stats_of(good, softmax.loss(label_logit), softmax.is_correct(label_logit, first == label));
    const float at_label = softmax.label_gradient(label_logit) * scale;
    if (gradient.data != nullptr) {
      T* dz = gradient.data + row * gradient.stride;
      for (int j = 0; j < classes; j += N) {
        auto value = load_values<N>(z + j);
#pragma unroll
        for (int k = 0; k < N; ++k)
          value.v[k] = !good ? 0.0f : j + k == label ? at_label : softmax.probability(value.v[k]) * scale;
        store_values<N>(dz + j, value);
      }
    }
  }
  finish_block(row_stats, loss_stats, partial);
}

struct ClassPart {
  float largest;
  float less;         // the sum of exp(z - largest) over the logits that are not the largest
  float maxima;       // the number of logits that are
  float before;       // of these before the label
  float label_logit;  // of the part that has it, otherwise 0
};
struct ClassRow {
  float largest, divisor;
  int label;  // -1: not a class
  float at_label, loss;
  bool correct;
};

// An operation of rows.cuh.
template <class T>
struct ManyClasses {
  using Type = T;
  using Part = ClassPart;
  using Row = ClassRow;
  static constexpr int kInputs = 1;
  MatrixView<T> gradient;
  MatrixView<const T> logits;
  const int32_t* labels;
  LossStats* stats;  // of the rows
  float scale;

  __device__ __forceinline__ const T* input(int, int64_t row) const {
    return logits.data + row * logits.stride;
  }
  __device__ __forceinline__ T* output(int64_t row) const {
    return gradient.data ? gradient.data + row * gradient.stride : nullptr;
  }
  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    Part part = {};
    const int first = team.first();
    const int label = team.count() > 0 ? labels[team.row()] : -1;
    // Read before the threads wait for each other: the gradient may replace the logits afterwards.
    if (label >= first && label < first + team.count())
      part.label_logit = static_cast<float>(input(0, team.row())[label]);
    part.largest = team.max();
    const float largest = part.largest;
    // The exponentials of a part of -infinity are 0, not NaN: other parts may have values.
    const float pivot = largest == -INFINITY ? 0.0f : largest;
    float sums[3];
    team.sums(sums, [=](float(&value)[1], float(&to)[3], int j) {
      const bool is_largest = value[0] == largest;
      value[0] = exp_of_negative(value[0] - pivot);
      to[0] += is_largest ? 0.0f : value[0];
      to[1] += is_largest ? 1.0f : 0.0f;
      to[2] += is_largest & (first + j < label) ? 1.0f : 0.0f;
    });
    part.less = sums[0], part.maxima = sums[1], part.before = sums[2];
    return part;
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t row) const {
    int best = 0;
    for (int i = 1; i < count; ++i)
      if (parts[i].largest > parts[best].largest) best = i;
    const float largest = parts[best].largest;
    float others = 0, before = 0, label_logit = 0;
    for (int i = 0; i < count; ++i) {
      const Part& part = parts[i];
      others = i == best ? others + (part.less + (part.maxima - 1))
                         : fmaf(part.maxima + part.less, exp_of_negative(part.largest - largest), others);
      before += part.largest == largest ? part.before : 0.0f;
      label_logit += part.label_logit;
    }
    const Softmax softmax(largest, others);
    Row of_row;
    of_row.largest = softmax.largest, of_row.divisor = 1.0f + softmax.others;
    of_row.label = labels[row];
    if (of_row.label < 0 || of_row.label >= logits.cols) of_row.label = -1;
    of_row.at_label = softmax.label_gradient(label_logit) * scale;
    of_row.loss = softmax.loss(label_logit);
    of_row.correct = softmax.is_correct(label_logit, before == 0.0f);
    return of_row;
  }
  __device__ __forceinline__ void save(const Row& of_row, int64_t row) const {
    stats[row] = stats_of(of_row.label >= 0, of_row.loss, of_row.correct);
  }

  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[1], const Row& of_row, int col,
                                        bool reduced) const {
    if (!reduced) {
      RONDO_SIMD
      for (int k = 0; k < Access::kSize; ++k) in[0].v[k] = exp_of_negative(in[0].v[k] - of_row.largest);
    }
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) {
      const float value = in[0].v[k] / of_row.divisor * scale;
      in[0].v[k] = of_row.label < 0 ? 0.0f : col + k == of_row.label ? of_row.at_label : value;
    }
  }
};

__global__ void __launch_bounds__(kThreads)
    sum_loss_stats_kernel(LossStats* loss_stats, const LossStats* partial, int64_t size) {
  LossStats sum = {};
  for (int64_t i = threadIdx.x; i < size; i += kThreads) sum = AddStats()(sum, partial[i]);
  finish_block(sum, loss_stats, nullptr);
}

bool row_per_thread(int64_t classes) { return classes <= kMaxClassesPerThread; }

int64_t stats_bytes(int64_t count) { return saturating_product({count, sizeof(LossStats)}); }

template <class T>
Status launch_cross_entropy(MatrixView<T> gradient, LossStats* loss_stats, MatrixView<const T> logits,
                            VectorView<const int32_t> labels, float scale, Workspace workspace,
                            cudaStream_t stream) {
  constexpr const char* kName = "softmax_cross_entropy";
  ArgumentCheck check(kName);
  check.optional_output("gradient", gradient, {"logits"});
  check.output_value("loss_stats", loss_stats);
  check.input("logits", logits);
  check.input("labels", labels);
  check.require(labels.size == logits.rows, "labels.size is ", labels.size,
                ", must be logits.rows = ", logits.rows);
  check.require(logits.rows <= 0 || (logits.cols >= 1 && logits.cols <= INT32_MAX / 2), "logits.cols is ",
                logits.cols, ", must be in [1, ", INT32_MAX / 2, "]");
  if (gradient.data != nullptr) check.same_shape("gradient", gradient, "logits", logits);
  check.workspace(workspace, softmax_cross_entropy_workspace_bytes(logits.rows, logits.cols));
  RONDO_RETURN_IF_ERROR(check.status());

  if (logits.rows == 0) return {};
  auto* const partial = static_cast<LossStats*>(workspace.data);
  LaunchShape shape;
  shape.block_x = kThreads;
  shape.shared_bytes = sizeof(Shared);
  int64_t partials = logits.rows;
  if (row_per_thread(logits.cols)) {
    // Each row must begin at a boundary of packs, so a stride counts like the number of classes.
    int64_t length = logits.cols;
    if (logits.rows > 1)
      length = std::gcd(std::gcd(length, logits.stride), gradient.data ? gradient.stride : 0);
    partials = shape.grid_x = ceil_div<int64_t>(logits.rows, kThreads);
    RONDO_RETURN_IF_ERROR(
        with_values_width<T>(values_width<T>(length, logits.data, gradient.data), [&](auto n) {
          return launch(kName, shape, stream, row_per_thread_kernel<T, n>, gradient, loss_stats, partial,
                        logits, labels.data, scale);
        }));
    if (partials == 1) return {};
  } else {
    const int64_t used = stats_bytes(logits.rows);
    RONDO_RETURN_IF_ERROR(rows::row_operation(
        kName, ManyClasses<T>{gradient, logits, labels.data, partial, scale}, logits.rows, logits.cols,
        rows::rows_are_wide<T>({gradient, logits}),
        {static_cast<std::byte*>(workspace.data) + used, workspace.bytes - used}, stream));
  }
  shape.grid_x = 1;
  return launch(kName, shape, stream, sum_loss_stats_kernel, loss_stats, partial, partials);
}

}  // namespace

int64_t softmax_cross_entropy_workspace_bytes(int64_t rows, int64_t classes) {
  if (row_per_thread(classes)) {
    const int64_t blocks = ceil_div<int64_t>(rows, kThreads);
    return blocks <= 1 ? 0 : stats_bytes(blocks);
  }
  rows = std::max<int64_t>(rows, 0);
  const int64_t of_parts = rows::workspace_bytes<ManyClasses<float>>(rows, classes);
  return std::min(of_parts, INT64_MAX - stats_bytes(rows)) + stats_bytes(rows);
}

template <InputType T>
Status softmax_cross_entropy(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient, LossStats* loss_stats,
                             MatrixView<T> logits, VectorView<const int32_t> labels, float scale,
                             Workspace workspace, cudaStream_t stream) {
  return launch_cross_entropy<std::remove_const_t<T>>(gradient, loss_stats, logits, labels, scale, workspace,
                                                      stream);
}

#define RONDO_CROSS_ENTROPY(T)                                                                            \
  template Status softmax_cross_entropy<T>(MatrixView<std::remove_const_t<T>>, LossStats*, MatrixView<T>, \
                                           VectorView<const int32_t>, float, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_CROSS_ENTROPY)

}  // namespace rondo
