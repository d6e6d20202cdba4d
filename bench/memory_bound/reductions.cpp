// Reductions over rows and columns. x is read once.

#include <rondo/bench/memory_bound/memory_bound.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/reduce.h>

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

void bias_gradient_of(benchmark::State& state, int64_t rows, int64_t cols) {
  Buffer<float> dy = normal_buffer(rows * cols, 1), db(cols);
  Buffer<unsigned char> workspace(bias_gradient_workspace_bytes(rows, cols));
  const std::vector<float> host = dy.download();
  std::vector<double> expected(static_cast<size_t>(cols));
  for (size_t i = 0; i < host.size(); ++i) expected[i % static_cast<size_t>(cols)] += host[i];
  time_checked(
      state, kFloat * static_cast<double>(rows * cols + cols),
      [&](cudaStream_t stream) {
        return bias_gradient({db.data(), cols}, {dy.data(), rows, cols, cols}, 0,
                             {workspace.data(), workspace.bytes()}, stream);
      },
      db, expected);
}
BENCHMARK_CAPTURE(bias_gradient_of, lenet_conv1, 256 * 26 * 26, 20)->UseManualTime();
BENCHMARK_CAPTURE(bias_gradient_of, lenet_conv2, 256 * 8 * 8, 50)->UseManualTime();
BENCHMARK_CAPTURE(bias_gradient_of, lenet_linear1, 256, 128)->UseManualTime();
BENCHMARK_CAPTURE(bias_gradient_of, large, 1 << 18, 512)->UseManualTime();

enum class Over { rows, columns };

// Compares the first result.
void reduce_of(benchmark::State& state, Over over, ReduceOperator op, int64_t rows, int64_t cols) {
  Buffer<float> x = normal_buffer(rows * cols, 1), y(over == Over::rows ? rows : cols);
  Buffer<unsigned char> workspace(over == Over::rows ? reduce_rows_workspace_bytes(rows, cols)
                                                     : reduce_columns_workspace_bytes(rows, cols));
  const std::vector<float> host = x.download();
  double sum = 0, squares = 0, most = -INFINITY;
  for (int64_t i = 0; i < (over == Over::rows ? cols : rows); ++i) {
    const double value = host[static_cast<size_t>(over == Over::rows ? i : i * cols)];
    sum += value, squares += value * value, most = std::max(most, value);
  }
  time_checked(state, kFloat * static_cast<double>(rows * cols + y.size()),
               [&](cudaStream_t stream) {
                 const MatrixView<const float> from = matrix<const float>(x.data(), rows, cols);
                 const Workspace scratch = {workspace.data(), workspace.bytes()};
                 return over == Over::rows ? reduce_rows({y.data(), rows}, from, op, scratch, stream)
                                           : reduce_columns({y.data(), cols}, from, op, scratch, stream);
               },
               y,
               {op == ReduceOperator::sum       ? sum
                : op == ReduceOperator::l2_norm ? std::sqrt(squares)
                                                : most});
}
BENCHMARK_CAPTURE(reduce_of, rows / lenet, Over::rows, ReduceOperator::max, 256, 10)->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, rows / 10_columns, Over::rows, ReduceOperator::sum, 1 << 20, 10)
    ->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, rows / 1000_columns, Over::rows, ReduceOperator::sum, 1 << 15, 1000)
    ->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, rows / max_1000_columns, Over::rows, ReduceOperator::max, 1 << 15, 1000)
    ->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, rows / norm_8192_columns, Over::rows, ReduceOperator::l2_norm, 1 << 12, 8192)
    ->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, rows / one_row, Over::rows, ReduceOperator::sum, 1, 32 << 20)->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, columns / lenet, Over::columns, ReduceOperator::max, 256, 10)->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, columns / 512_columns, Over::columns, ReduceOperator::sum, 1 << 16, 512)
    ->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, columns / norm_512_columns, Over::columns, ReduceOperator::l2_norm, 1 << 16, 512)
    ->UseManualTime();
BENCHMARK_CAPTURE(reduce_of, columns / one_column, Over::columns, ReduceOperator::sum, 32 << 20, 1)
    ->UseManualTime();

void argmax_rows_of(benchmark::State& state, int64_t rows, int64_t cols) {
  Buffer<float> x = normal_buffer(rows * cols, 1);
  Buffer<int64_t> index(rows);
  Buffer<unsigned char> workspace(reduce_rows_workspace_bytes(rows, cols));
  const auto work = [&](cudaStream_t stream) {
    return argmax_rows({index.data(), rows}, matrix<const float>(x.data(), rows, cols),
                       {workspace.data(), workspace.bytes()}, stream);
  };
  run_once(work);
  const std::vector<float> host = x.download();
  if (index.download()[0] != std::max_element(host.begin(), host.begin() + cols) - host.begin())
    return state.SkipWithError("the result is wrong");
  time_device_work(state, Cache::hot, {.bytes = kFloat * static_cast<double>(rows * cols + 2 * rows)}, work);
}
BENCHMARK_CAPTURE(argmax_rows_of, lenet, 256, 10)->UseManualTime();
BENCHMARK_CAPTURE(argmax_rows_of, 32000_columns, 1 << 10, 32000)->UseManualTime();

}  // namespace
}  // namespace rondo::bench
