// For few classes each thread processes a row. For many classes each block processes a row, and its threads
// share the classes. An access has up to 16 bytes, as the alignment of the rows allows. Each block writes
// partial loss statistics, and a last block adds them in a fixed tree. If there is only one block, it adds to
// the caller's loss_stats directly.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementary.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/values.cuh>

#include <cub/block/block_reduce.cuh>

#include <numeric>

namespace rondo {
namespace {

constexpr int kThreads = 128;
constexpr int kMaxClassesPerThread = 64;  // above this, a row is long enough for a whole block

// The largest logit of a row and its first position.
struct Maximum {
  float value;
  int at;
};

struct Larger {
  __device__ Maximum operator()(const Maximum& a, const Maximum& b) const {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
  }
};

struct AddStats {
  __device__ LossStats operator()(const LossStats& a, const LossStats& b) const {
    return {a.loss + b.loss, a.correct + b.correct, a.rows + b.rows, a.bad_labels + b.bad_labels};
  }
};

struct Shared {
  cub::BlockReduce<Maximum, kThreads>::TempStorage maxima;
  cub::BlockReduce<float, kThreads>::TempStorage sums;
  cub::BlockReduce<LossStats, kThreads>::TempStorage loss_stats;
  Maximum maximum;
  float others;
};

// Softmax of a row in terms of its maximum m: others = sum over j != argmax of exp(z[j] - m). The sum of all
// exponentials is 1 + others, so a confident prediction (others << 1) loses nothing to rounding.
struct Softmax {
  Maximum maximum;
  float others;

  // If the maximum is infinite, infinity minus infinity is NaN, and the whole row becomes NaN.
  __device__ Softmax(Maximum m, float sum_of_others)
      : maximum(m), others(sum_of_others + (m.value - m.value)) {}

  __device__ float probability(float logit) const {
    return exp_of_negative(logit - maximum.value) / (1.0f + others);
  }

  // d loss / d logit of class j
  __device__ float gradient(float logit, int j, int label) const {
    if (j != label) return probability(logit);
    return j == maximum.at ? -others / (1.0f + others) : probability(logit) - 1.0f;
  }

  __device__ LossStats loss_stats(float label_logit, int label) const {
    const float loss = log_of_one_plus(others) + (maximum.value - label_logit);
    return {loss, loss == loss && label == maximum.at, 1, 0};
  }
};

__device__ LossStats stats_of_bad_label() { return {nan(""), 0, 1, 1}; }

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
    Maximum maximum = {static_cast<float>(z[0]), 0};
    for (int j = 0; j < classes; j += N) {
      const auto logit = load_values<N>(z + j);
#pragma unroll
      for (int k = 0; k < N; ++k) maximum = Larger()(maximum, {logit.v[k], j + k});
    }
    float others = 0;
    for (int j = 0; j < classes; j += N) {
      const auto logit = load_values<N>(z + j);
#pragma unroll
      for (int k = 0; k < N; ++k)
        if (j + k != maximum.at) others += exp_of_negative(logit.v[k] - maximum.value);
    }
    const Softmax softmax(maximum, others);

    const bool good = label >= 0 && label < classes;
    row_stats = good ? softmax.loss_stats(static_cast<float>(z[label]), label) : stats_of_bad_label();
    if (gradient.data != nullptr) {
      T* dz = gradient.data + row * gradient.stride;
      for (int j = 0; j < classes; j += N) {
        auto value = load_values<N>(z + j);
#pragma unroll
        for (int k = 0; k < N; ++k)
          value.v[k] = good ? softmax.gradient(value.v[k], j + k, label) * scale : 0.0f;
        store_values<N>(dz + j, value);
      }
    }
  }
  finish_block(row_stats, loss_stats, partial);
}

// The sum over a row by a block. Place p has the sum over the classes p, p + kPlaces, ... Thread t adds its
// packs of N classes to their places, in registers, and then adds up the places t, t + kThreads, ... So the
// order of the additions does not depend on N.
constexpr int kPlacesPerThread = 8, kPlaces = kPlacesPerThread * kThreads;

struct RowShared : Shared {
  alignas(16) float places[kPlaces];
};

template <int N>
__device__ float sum_of_places(const Values<N> (&sums)[kPlacesPerThread / N]) {
  const int thread = static_cast<int>(threadIdx.x);
  float sum = 0;
  if constexpr (N == 1) {  // the thread has the places that it adds
#pragma unroll
    for (int i = 0; i < kPlacesPerThread; ++i) sum += sums[i].v[0];
  } else {
    float* places = shared_memory<RowShared>().places;
#pragma unroll
    for (int i = 0; i < kPlacesPerThread / N; ++i)
      store_values<N>(places + (i * kThreads + thread) * N, sums[i]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPlacesPerThread; ++i) sum += places[i * kThreads + thread];
  }
  return sum;
}

// As for row_per_thread_kernel: N divides the number of classes, and rows begin at multiples of N elements.
// Without a number of blocks, ptxas 13.0 keeps to 32 registers for 9.0 and spills one.
template <class T, int N>
__global__ void __launch_bounds__(kThreads, 8)
    row_per_block_kernel(MatrixView<T> gradient, LossStats* loss_stats, LossStats* partial,
                         MatrixView<const T> logits, const int32_t* labels, float scale) {
  Shared& shared = shared_memory<RowShared>();
  const int64_t row = blockIdx.x;
  const int classes = static_cast<int>(logits.cols);
  const int label = labels[row];
  const bool good = label >= 0 && label < classes;
  const T* z = logits.data + row * logits.stride;
  // Read now, because an in-place gradient overwrites it.
  const float label_logit = good ? static_cast<float>(z[label]) : 0.0f;
  const int thread = static_cast<int>(threadIdx.x);
  // Calls visit(i, j) for the thread's packs: pack i of a round of kPlaces classes begins at class j.
  const auto for_each_pack = [&](auto visit) {
    for (int round = 0; round < classes; round += kPlaces)
#pragma unroll
      for (int i = 0; i < kPlacesPerThread / N; ++i) {
        const int j = round + (i * kThreads + thread) * N;
        if (j < classes) visit(i, j);
      }
  };

  Maximum maximum = {-INFINITY, INT32_MAX};
  for_each_pack([&](int, int j) {
    const auto logit = load_values<N>(z + j);
#pragma unroll
    for (int k = 0; k < N; ++k) maximum = Larger()(maximum, {logit.v[k], j + k});
  });
  maximum = cub::BlockReduce<Maximum, kThreads>(shared.maxima).Reduce(maximum, Larger());
  if (thread == 0) shared.maximum = maximum;
  __syncthreads();

  Values<N> sums[kPlacesPerThread / N] = {};
  for_each_pack([&](int i, int j) {
    const auto logit = load_values<N>(z + j);
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (j + k != shared.maximum.at) sums[i].v[k] += exp_of_negative(logit.v[k] - shared.maximum.value);
  });
  const float others = cub::BlockReduce<float, kThreads>(shared.sums).Sum(sum_of_places<N>(sums));
  if (thread == 0) shared.others = others;
  __syncthreads();

  const Softmax softmax(shared.maximum, shared.others);
  if (gradient.data != nullptr) {
    T* dz = gradient.data + row * gradient.stride;
    for_each_pack([&](int, int j) {
      auto value = load_values<N>(z + j);
#pragma unroll
      for (int k = 0; k < N; ++k)
        value.v[k] = good ? softmax.gradient(value.v[k], j + k, label) * scale : 0.0f;
      store_values<N>(dz + j, value);
    });
  }
  LossStats row_stats = {};
  if (thread == 0) row_stats = good ? softmax.loss_stats(label_logit, label) : stats_of_bad_label();
  finish_block(row_stats, loss_stats, partial);
}

__global__ void __launch_bounds__(kThreads)
    sum_loss_stats_kernel(LossStats* loss_stats, const LossStats* partial, int64_t size) {
  LossStats sum = {};
  for (int64_t i = threadIdx.x; i < size; i += kThreads) sum = AddStats()(sum, partial[i]);
  finish_block(sum, loss_stats, nullptr);
}

bool row_per_thread(int64_t classes) { return classes <= kMaxClassesPerThread; }

int64_t blocks_for(int64_t rows, int64_t classes) {
  return row_per_thread(classes) ? ceil_div<int64_t>(rows, kThreads) : rows;
}

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

  // Each row must begin at a boundary of packs, so a stride counts like the number of classes.
  int64_t length = logits.cols;
  if (logits.rows > 1)
    length = std::gcd(std::gcd(length, logits.stride), gradient.data ? gradient.stride : 0);
  const int width = pack_width<16 / sizeof(T)>(length, logits.data, gradient.data);
  const bool by_thread = row_per_thread(logits.cols);
  LaunchShape shape;
  shape.grid_x = blocks_for(logits.rows, logits.cols);
  shape.block_x = kThreads;
  shape.shared_bytes = by_thread ? sizeof(Shared) : sizeof(RowShared);
  auto* partial = static_cast<LossStats*>(workspace.data);
  RONDO_RETURN_IF_ERROR(with_pack_width<T>(width, [&](auto n) {
    return launch(kName, shape, stream, by_thread ? row_per_thread_kernel<T, n> : row_per_block_kernel<T, n>,
                  gradient, loss_stats, partial, logits, labels.data, scale);
  }));
  if (shape.grid_x <= 1) return {};
  const int64_t partials = shape.grid_x;
  shape.grid_x = 1;
  return launch(kName, shape, stream, sum_loss_stats_kernel, loss_stats, partial, partials);
}

}  // namespace

int64_t softmax_cross_entropy_workspace_bytes(int64_t rows, int64_t classes) {
  const int64_t blocks = blocks_for(rows, classes);
  return blocks <= 1 ? 0 : saturating_product({blocks, sizeof(LossStats)});
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
