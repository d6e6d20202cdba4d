#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/layer_norm.h>
#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/max_unpool.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/tests/kernels/operations/operations.h>
#include <rondo/tests/kernels/operations/positive.h>

#include <cmath>
#include <string>

namespace rondo::test {
namespace {

// A number of channels that every pack width divides, also the width of a vector register.
constexpr int64_t kChannels = 32;

template <class T>
void add_batch_norm(std::vector<Operation>& all, int64_t rows) {
  const int64_t size = rows * kChannels;
  const std::string suffix =
      concat("_", rows, dtype_of<T> == DType::float32 ? "" : concat("_", name_of(dtype_of<T>)));
  const auto as_matrix = [=](T* data) { return data ? matrix(data, rows, kChannels) : MatrixView<T>{}; };
  const auto in = [=](Operands& o) { return o.in(o.values_of<T>(size)); };
  all.push_back({"batch_norm_sums" + suffix, [=](Operands& o) {
                   double* sums = o.out<double>(2 * kChannels);
                   T* x = in(o);
                   return batch_norm_sums({sums, 2 * kChannels}, as_matrix(x),
                                          o.workspace(batch_norm_workspace_bytes(rows, kChannels)),
                                          o.stream());
                 }});
  for (const bool with_residual : {false, true})
    all.push_back({"batch_norm" + suffix + (with_residual ? "_residual" : ""), [=](Operands& o) {
                     T *y = o.out<T>(size), *x = in(o);
                     float *mean = o.in(kChannels), *inv = o.in(kChannels), *gamma = o.in(kChannels),
                           *beta = o.in(kChannels);
                     T* residual = with_residual ? in(o) : nullptr;
                     return batch_norm(as_matrix(y), as_matrix(x), {mean, kChannels}, {inv, kChannels},
                                       {gamma, kChannels}, {beta, kChannels}, {as_matrix(residual), true},
                                       o.stream());
                   }});
  for (const bool relu : {false, true}) {
    all.push_back({"batch_norm_backward_sums" + suffix + (relu ? "_relu" : ""), [=](Operands& o) {
                     double* sums = o.out<double>(2 * kChannels);
                     float *dgamma = o.out(kChannels), *dbeta = o.out(kChannels);
                     T *dy = in(o), *x = in(o);
                     float *mean = o.in(kChannels), *inv = o.in(kChannels);
                     T* y = relu ? in(o) : nullptr;
                     return batch_norm_backward_sums(
                         {sums, 2 * kChannels}, {dgamma, kChannels}, {dbeta, kChannels}, as_matrix(dy),
                         {as_matrix(x), {mean, kChannels}, {inv, kChannels}, as_matrix(y)},
                         o.workspace(batch_norm_workspace_bytes(rows, kChannels)), o.stream());
                   }});
    for (const bool with_residual : {false, true})
      all.push_back(
          {"batch_norm_backward" + suffix + (relu ? "_relu" : "") + (with_residual ? "_residual" : ""),
           [=](Operands& o) {
             T *dx = o.out<T>(size), *dr = with_residual ? o.out<T>(size) : nullptr, *dy = in(o), *x = in(o);
             float *mean = o.in(kChannels), *inv = o.in(kChannels);
             T* y = relu ? in(o) : nullptr;
             float* gamma = o.in(kChannels);
             double* sums = o.in(o.values_of<double>(2 * kChannels));
             return batch_norm_backward(as_matrix(dx), as_matrix(dr), as_matrix(dy),
                                        {as_matrix(x), {mean, kChannels}, {inv, kChannels}, as_matrix(y)},
                                        {gamma, kChannels}, {sums, 2 * kChannels}, rows, o.stream());
           }});
  }
}

// One call for each kind of team, of rows with whole accesses and without.
template <class T>
void add_layer_norm(std::vector<Operation>& all) {
  constexpr int64_t kRows = 3;
  for (const int64_t cols : {64, 320, 330, 2080, 8224}) {
    const std::string suffix =
        concat("_", cols, dtype_of<T> == DType::float32 ? "" : concat("_", name_of(dtype_of<T>)));
    const auto in = [=](Operands& o) {
      return matrix<const T>(o.in(o.values_of<T>(kRows * cols)), kRows, cols);
    };
    const auto workspace = [=](Operands& o) {
      return o.workspace(layer_norm_backward_workspace_bytes(kRows, cols));
    };
    all.push_back({"layer_norm" + suffix, [=](Operands& o) {
                     T* y = o.out<T>(kRows * cols);
                     float *mean = o.out(kRows), *inv = o.out(kRows), *gamma = o.in(cols), *beta = o.in(cols);
                     return layer_norm(matrix(y, kRows, cols), {mean, kRows}, {inv, kRows}, in(o),
                                       {gamma, cols}, {beta, cols}, 1e-5f, workspace(o), o.stream());
                   }});
    all.push_back({"layer_norm_backward" + suffix, [=](Operands& o) {
                     T* dx = o.out<T>(kRows * cols);
                     float *dgamma = o.out(cols), *dbeta = o.out(cols), *gamma = o.in(cols),
                           *mean = o.in(kRows), *inv = o.in(kRows);
                     const auto dy = in(o), x = in(o);
                     return layer_norm_backward(matrix(dx, kRows, cols), {dgamma, cols}, {dbeta, cols}, dy,
                                                {x, {mean, kRows}, {inv, kRows}}, {gamma, cols}, workspace(o),
                                                o.stream());
                   }});
    all.push_back({"rms_norm" + suffix, [=](Operands& o) {
                     T* y = o.out<T>(kRows * cols);
                     float *inv = o.out(kRows), *gamma = o.in(cols);
                     return rms_norm(matrix(y, kRows, cols), {inv, kRows}, in(o), {gamma, cols}, 1e-5f,
                                     workspace(o), o.stream());
                   }});
    all.push_back({"rms_norm_backward" + suffix, [=](Operands& o) {
                     T* dx = o.out<T>(kRows * cols);
                     float *dgamma = o.out(cols), *gamma = o.in(cols), *inv = o.in(kRows);
                     const auto dy = in(o), x = in(o);
                     return rms_norm_backward(matrix(dx, kRows, cols), {dgamma, cols}, dy, {x, {inv, kRows}},
                                              {gamma, cols}, workspace(o), o.stream());
                   }});
  }
}

template <class T>
void add_group_norm(std::vector<Operation>& all) {
  for (const int64_t groups : {1, 4, 32}) {
    const std::string suffix =
        concat("_", groups, dtype_of<T> == DType::float32 ? "" : concat("_", name_of(dtype_of<T>)));
    const auto view = [](auto* data) { return ImageView{data, 2, 8, 16, kChannels}; };
    const auto in = [=](Operands& o) { return o.in(o.values_of<T>(2 * 128 * kChannels)); };
    all.push_back({"group_norm" + suffix, [=](Operands& o) {
                     T *y = o.out<T>(2 * 128 * kChannels), *x = in(o);
                     float *mean = o.out(2 * groups), *inv = o.out(2 * groups), *gamma = o.in(kChannels),
                           *beta = o.in(kChannels);
                     return group_norm(view(y), {mean, 2 * groups}, {inv, 2 * groups}, view(x),
                                       {gamma, kChannels}, {beta, kChannels}, groups, 1e-5f,
                                       o.workspace(group_norm_workspace_bytes(2, 128, kChannels)),
                                       o.stream());
                   }});
    all.push_back({"group_norm_backward" + suffix, [=](Operands& o) {
                     T *dx = o.out<T>(2 * 128 * kChannels), *dy = in(o), *x = in(o);
                     float *dgamma = o.out(kChannels), *dbeta = o.out(kChannels), *mean = o.in(2 * groups),
                           *inv = o.in(2 * groups), *gamma = o.in(kChannels);
                     return group_norm_backward(
                         view(dx), {dgamma, kChannels}, {dbeta, kChannels}, view(dy),
                         {view(x), {mean, 2 * groups}, {inv, 2 * groups}}, {gamma, kChannels}, groups,
                         o.workspace(group_norm_backward_workspace_bytes(2, 128, kChannels, groups)),
                         o.stream());
                   }});
  }
}

// Sums of ten values and of their squares, for each channel.
std::vector<double> sums_of_ten(const std::vector<float>& values) {
  std::vector<double> sums(values.begin(), values.end());
  for (size_t c = kChannels; c < sums.size(); ++c)
    sums[c] = std::abs(sums[c]) + sums[c - kChannels] * sums[c - kChannels] / 10;
  return sums;
}

void add_batch_norm_statistics(std::vector<Operation>& all) {
  for (const bool counted : {false, true})
    all.push_back({counted ? "batch_norm_statistics_counted" : "batch_norm_statistics", [=](Operands& o) {
                     float *mean = o.out(kChannels), *inv = o.out(kChannels),
                           *running_mean = o.in_out(kChannels), *running_variance = o.in_out(kChannels);
                     double* sums = o.in(sums_of_ten(o.values(2 * kChannels)));
                     return batch_norm_statistics({mean, kChannels}, {inv, kChannels},
                                                  {{running_mean, kChannels},
                                                   {running_variance, kChannels},
                                                   0.25f,
                                                   counted ? o.aligned<int64_t>(7) : nullptr},
                                                  {sums, 2 * kChannels}, 10, 1e-5f, o.stream());
                   }});
  all.push_back({"batch_norm_inv_std", [](Operands& o) {
                   float *inv = o.out(kChannels), *variance = o.in(positive(o.values(kChannels)));
                   return batch_norm_inv_std({inv, kChannels}, {variance, kChannels}, 1e-5f, o.stream());
                 }});
}

// Images and pooled images of 8 channels.
constexpr int64_t kSide = 6;
struct Pooled {
  explicit Pooled(int64_t side) : side(side), x_size(2 * kSide * kSide * 8), y_size(2 * side * side * 8) {}
  template <class T>
  ImageView<T> x_view(T* data) const {
    return {data, 2, kSide, kSide, 8};
  }
  template <class T>
  ImageView<T> y_view(T* data) const {
    return {data, 2, side, side, 8};
  }
  // Drawn indices: of some elements of the windows, and of others.
  int32_t* indices(Operands& o) const {
    Random random(4);
    std::vector<int32_t> indices;
    for (int64_t i = 0; i < y_size; ++i)
      indices.push_back(static_cast<int32_t>(random.below(kSide * kSide + 1)));
    return o.in(indices);
  }

  int64_t side, x_size, y_size;
};

void add_avg_pools(std::vector<Operation>& all, const std::string& name, const PoolWindow& window) {
  const Pooled of(pooled_height(kSide, window));
  for (const AverageOver over : {AverageOver::window, AverageOver::image}) {
    const std::string suffix = name + (over == AverageOver::window ? "_over_window" : "_over_image");
    all.push_back({"avg_pool_" + suffix, [=](Operands& o) {
                     float *y = o.out(of.y_size), *x = o.in(of.x_size);
                     return avg_pool(of.y_view(y), of.x_view(x), window, over, o.stream());
                   }});
    all.push_back({"avg_pool_backward_" + suffix, [=](Operands& o) {
                     float *dx = o.out(of.x_size), *dy = o.in(of.y_size);
                     return avg_pool_backward(of.x_view(dx), of.y_view(dy), window, over, o.stream());
                   }});
    all.push_back({"avg_pool_relu_backward_" + suffix, [=](Operands& o) {
                     float *dz = o.out(of.x_size), *dy = o.in(of.y_size), *x = o.in(of.x_size);
                     return avg_pool_relu_backward(of.x_view(dz), of.y_view(dy), of.x_view(x), window, over,
                                                   o.stream());
                   }});
  }
}

void add_max_pools(std::vector<Operation>& all, const std::string& name, const PoolWindow& window) {
  const Pooled of(pooled_height(kSide, window));
  all.push_back({"max_pool_" + name, [=](Operands& o) {
                   float *y = o.out(of.y_size), *x = o.in(of.x_size);
                   return max_pool(of.y_view(y), of.x_view(x), window, o.stream());
                 }});
  // Every element of y is 0.5. The elements of x that equal it count as the maximum of their windows: x has
  // multiples of 1/64.
  all.push_back({"max_pool_backward_" + name, [=](Operands& o) {
                   float *dx = o.out(of.x_size), *dy = o.in(of.y_size),
                         *y = o.in(std::vector<float>(static_cast<size_t>(of.y_size), 0.5f)),
                         *x = o.in(exact_values(of.x_size, 4));
                   return max_pool_backward(of.x_view(dx), of.y_view(dy), of.y_view(y), of.x_view(x), window,
                                            o.stream());
                 }});
  all.push_back({"max_pool_with_indices_" + name, [=](Operands& o) {
                   float *y = o.out(of.y_size), *x = o.in(of.x_size);
                   auto* indices = o.out<int32_t>(of.y_size);
                   return max_pool_with_indices(of.y_view(y), of.y_view(indices), of.x_view(x), window,
                                                o.stream());
                 }});
  all.push_back({"max_pool_with_indices_backward_" + name, [=](Operands& o) {
                   float *dx = o.out(of.x_size), *dy = o.in(of.y_size);
                   return max_pool_with_indices_backward(of.x_view(dx), of.y_view(dy),
                                                         of.y_view(of.indices(o)), window, o.stream());
                 }});
  all.push_back({"max_unpool_" + name, [=](Operands& o) {
                   float *y = o.out(of.x_size), *x = o.in(of.y_size);
                   return max_unpool(of.x_view(y), of.y_view(x), of.y_view(of.indices(o)), window,
                                     o.stream());
                 }});
  all.push_back({"max_unpool_backward_" + name, [=](Operands& o) {
                   float *dx = o.out(of.y_size), *dy = o.in(of.x_size);
                   return max_unpool_backward(of.y_view(dx), of.x_view(dy), of.y_view(of.indices(o)), window,
                                              o.stream());
                 }});
}

void add_adaptive_pools(std::vector<Operation>& all, int64_t side) {
  const Pooled of(side);
  const std::string suffix = concat("_", side);
  all.push_back({"adaptive_avg_pool" + suffix, [=](Operands& o) {
                   float *y = o.out(of.y_size), *x = o.in(of.x_size);
                   return adaptive_avg_pool(of.y_view(y), of.x_view(x), o.stream());
                 }});
  all.push_back({"adaptive_avg_pool_backward" + suffix, [=](Operands& o) {
                   float *dx = o.out(of.x_size), *dy = o.in(of.y_size);
                   return adaptive_avg_pool_backward(of.x_view(dx), of.y_view(dy), o.stream());
                 }});
  all.push_back({"adaptive_max_pool" + suffix, [=](Operands& o) {
                   float *y = o.out(of.y_size), *x = o.in(of.x_size);
                   auto* indices = o.out<int32_t>(of.y_size);
                   return adaptive_max_pool(of.y_view(y), of.y_view(indices), of.x_view(x), o.stream());
                 }});
  all.push_back({"adaptive_max_pool_backward" + suffix, [=](Operands& o) {
                   float *dx = o.out(of.x_size), *dy = o.in(of.y_size);
                   return adaptive_max_pool_backward(of.x_view(dx), of.y_view(dy), of.y_view(of.indices(o)),
                                                     o.stream());
                 }});
}

void add_pools(std::vector<Operation>& all) {
  const std::pair<const char*, PoolWindow> windows[] = {
      {"2x2", {2, 2, 2, 2, 0, 0}},
      {"3x3", {3, 3, 2, 2, 1, 1}},
      {"3x3_ceil", {3, 3, 2, 2, 0, 0, 0, 0, true}},
  };
  for (const auto& [name, window] : windows) {
    add_avg_pools(all, name, window);
    add_max_pools(all, name, window);
  }
  add_max_pools(all, "3x3_dilated", {3, 3, 1, 1, 2, 2, {}, {}, false, 2, 2});
  for (const int64_t side : {3, 4, 8}) add_adaptive_pools(all, side);
}

}  // namespace

void add_norms_and_pools(std::vector<Operation>& all) {
  add_batch_norm_statistics(all);
  for (const int64_t rows : {40, 600}) add_batch_norm<float>(all, rows);
  add_batch_norm<__nv_bfloat16>(all, 40);
  add_batch_norm<__half>(all, 40);
  add_layer_norm<float>(all);
  add_layer_norm<__nv_bfloat16>(all);
  add_layer_norm<__half>(all);
  add_group_norm<float>(all);
  add_group_norm<__nv_bfloat16>(all);
  add_group_norm<__half>(all);
  add_pools(all);
}

}  // namespace rondo::test
