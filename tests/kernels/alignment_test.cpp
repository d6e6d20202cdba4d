// Runs every operation with each operand in turn aligned differently from the others. The bits of the result
// must not depend on the alignment. Above 400 lines because there is one entry for each operation.
//
// A GPU faults on an access of 8 or 16 bytes at an address that is not a multiple of that size. The executor
// always checks this for cp.async, and for every wide load and store in a build with RONDO_CHECK_ALIGNMENT
// (the presets asan and tsan). A pack width that ignores one of the pointers therefore fails under tools/test
// asan, but may pass without it.
//
// The list of operations is read from the headers, so that no operation is missed.
#include <gtest/gtest.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/data/columns.h>
#include <rondo/kernels/data/fill.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/count_differences.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/tests/kernels/declared_operations.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace rondo::test {
namespace {

// The operands of one call. Each lies `offset` elements behind an address aligned to 256 bytes, except that
// operand number `which` lies `other_offset` elements behind one.
class Operands {
 public:
  explicit Operands(int64_t offset, int which = -1, int64_t other_offset = 0)
      : offset_(offset), other_offset_(other_offset), which_(which) {}

  template <class T = float>
  T* in(const std::vector<T>& values) {
    return keep<T>(std::make_shared<GuardedBuffer<T>>(values, next()));
  }
  // An operand whose rows must begin at multiples of 16 bytes, wherever the others begin.
  template <class T>
  T* in_aligned(const std::vector<T>& values) {
    return keep<T>(std::make_shared<GuardedBuffer<T>>(values));
  }
  float* in(int64_t size) { return in(exact_values(size, static_cast<uint64_t>(count_ + 1))); }
  template <class T = float>
  T* out(int64_t size) {
    return written<T>(std::make_shared<GuardedBuffer<T>>(size, next()));
  }
  template <class T = float>
  T* in_out(const std::vector<T>& values) {
    return written<T>(std::make_shared<GuardedBuffer<T>>(values, next()));
  }
  float* in_out(int64_t size) { return in_out(exact_values(size, static_cast<uint64_t>(count_ + 1))); }
  // Workspaces and the structs of a step (AdamState, LossStats) have a required alignment, which operations
  // check.
  Workspace workspace(int64_t bytes) {
    const auto buffer = std::make_shared<GuardedBuffer<unsigned char>>(bytes);
    kept_.push_back(buffer);
    return buffer->workspace();
  }
  template <class T>
  T* aligned(const T& value) {
    return keep<T>(std::make_shared<GuardedBuffer<T>>(std::vector<T>{value}));
  }
  const Stream& stream() const { return stream_; }

  int count() const { return count_; }
  // The bytes of all outputs.
  std::vector<unsigned char> results() const {
    std::vector<unsigned char> bytes;
    for (const auto& download : downloads_) download(bytes);
    return bytes;
  }

 private:
  int64_t next() { return count_++ == which_ ? other_offset_ : offset_; }
  template <class T>
  T* keep(const std::shared_ptr<GuardedBuffer<T>>& buffer) {
    kept_.push_back(buffer);
    return buffer->data();
  }
  template <class T>
  T* written(const std::shared_ptr<GuardedBuffer<T>>& buffer) {
    downloads_.push_back([buffer](std::vector<unsigned char>& bytes) {
      const std::vector<T> values = buffer->download();
      const auto* begin = reinterpret_cast<const unsigned char*>(values.data());
      bytes.insert(bytes.end(), begin, begin + values.size() * sizeof(T));
    });
    return keep<T>(buffer);
  }

  int64_t offset_, other_offset_;
  int which_, count_ = 0;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::function<void(std::vector<unsigned char>&)>> downloads_;
  Stream stream_;
};

struct Operation {
  std::string name;
  std::function<Status(Operands&)> run;
  bool long_arrays = false;  // with which only a few alignments are tried

  friend void PrintTo(const Operation& operation, std::ostream* out) { *out << operation.name; }
};

std::vector<float> positive(std::vector<float> values) {
  for (float& value : values) value = 1 + value * value;
  return values;
}

// Flat arrays: of many slots, with a tail; and of whole blocks of every kernel, so that an array that does
// not begin at a boundary has its last elements in one block more.
constexpr int64_t kWithTail = 1003, kWholeBlocks = 1 << 17;

void add_flat_operations(std::vector<Operation>& all, int64_t size) {
  const std::string suffix = size == kWholeBlocks ? "_whole_blocks" : "";
  const auto add_one = [&](const std::string& name, const std::function<Status(Operands&)>& run) {
    all.push_back({name + suffix, run, size == kWholeBlocks});
  };
  add_one("relu", [=](Operands& o) {
    float *y = o.out(size), *x = o.in(size);
    return relu({y, size}, {x, size}, o.stream());
  });
  add_one("relu_backward", [=](Operands& o) {
    float *dx = o.out(size), *dy = o.in(size), *y = o.in(size);
    return relu_backward({dx, size}, {dy, size}, {y, size}, o.stream());
  });
  add_one("cast", [=](Operands& o) {
    auto* const y = o.out<__nv_bfloat16>(size);
    const float* x = o.in(size);
    return cast({y, size}, {x, size}, o.stream());
  });
  for (const bool with_relu : {false, true})
    add_one(with_relu ? "add_relu" : "add", [=](Operands& o) {
      float *y = o.out(size), *a = o.in(size), *b = o.in(size);
      return add({y, size}, {a, size}, {b, size}, with_relu, o.stream());
    });
  for (const int64_t first : {0, 1, 2, 3})
    add_one(concat("dropout_from_", first), [=](Operands& o) {
      float *y = o.out(size), *x = o.in(size);
      return dropout({y, size}, {x, size}, 0.3f, {5, 3, o.aligned<int64_t>(7), first}, o.stream());
    });
  add_one("fill", [=](Operands& o) { return fill({o.out(size), size}, -2.5f, o.stream()); });
  add_one("fill_uniform", [=](Operands& o) {
    return fill_uniform({o.out(size), size}, -1, 1, {1, 2}, o.stream());
  });
  add_one("fill_normal", [=](Operands& o) {
    return fill_normal({o.out(size), size}, 0, 1, {1, 2}, o.stream());
  });
  add_one("count_differences", [=](Operands& o) {
    float *a = o.in(size), *b = o.in(size);
    auto* count = o.in_out<unsigned long long>({7});
    return count_differences({count, 1}, {a, size}, {b, size}, o.stream());
  });
  add_one("first_nonfinite", [=](Operands& o) {
    std::vector<float> values = exact_values(size, 1);
    values.back() = NAN;
    float* x = o.in(values);
    return first_nonfinite({o.out<unsigned long long>(1), 1}, {x, size}, false, o.stream());
  });
  for (const bool with_velocity : {false, true})
    add_one(with_velocity ? "sgd_update_with_momentum" : "sgd_update", [=](Operands& o) {
      float *p = o.in_out(size), *g = o.in(size);
      float* v = with_velocity ? o.in_out(size) : nullptr;
      return sgd_update({p, size}, {v, v ? size : 0}, {g, size}, o.aligned(0.1f), {0.5f, v ? 0.9f : 0, 0.01f},
                        o.stream());
    });
  add_one("sgd_update_bfloat16", [=](Operands& o) {
    float* p = o.in_out(size);
    auto* const copy = o.out<__nv_bfloat16>(size);
    float* v = o.in_out(size);
    const std::vector<float> g = exact_values(size, 5);
    auto* const gradient = o.in(std::vector<__nv_bfloat16>(g.begin(), g.end()));
    return sgd_update({p, size}, VectorView<__nv_bfloat16>{copy, size}, {v, size},
                      VectorView<const __nv_bfloat16>{gradient, size}, o.aligned(0.1f), {0.5f, 0.9f, 0.01f},
                      o.stream());
  });
  add_one("adam_update", [=](Operands& o) {
    float *p = o.in_out(size), *m = o.in_out(size), *v = o.in_out(positive(exact_values(size, 9))),
          *g = o.in(size);
    return adam_update({p, size}, {m, size}, {v, size}, {g, size}, o.aligned(AdamState{3, 0.5f, 0.25f, 0.1f}),
                       {}, o.stream());
  });
}

void add_data_and_losses(std::vector<Operation>& all) {
  constexpr int64_t kSamples = 5, kShard = 3;
  all.push_back({"gather_batch", [](Operands& o) {
                   std::vector<uint8_t> bytes(kSamples * 32), classes(kSamples);
                   for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i);
                   float* x = o.out(kShard * 32);
                   int32_t* labels = o.out<int32_t>(kShard);
                   uint8_t* images = o.in(bytes);
                   uint8_t* image_labels = o.in(classes);
                   int32_t* order = o.in<int32_t>({4, 0, 3, 1, 2});
                   return gather_batch({x, kShard, 4, 4, 2}, {labels, kShard}, {images, kSamples, 4, 4, 2},
                                       {image_labels, kSamples}, {order, kSamples},
                                       {o.aligned<int64_t>(0), kSamples, 1}, 0.5f, -1, o.stream());
                 }});
  all.push_back({"copy_columns", [](Operands& o) {
                   float *to = o.in_out(40 * 24), *from = o.in(40 * 32);
                   return copy_columns({to, 40, 16, 24}, {from, 40, 16, 32}, o.stream());
                 }});
  for (const auto& [rows, cols, stride] :
       {std::array<int64_t, 3>{40, 64, 64}, {600, 32, 32}, {40, 32, 33}, {40, 32, 34}, {40, 32, 36}})
    all.push_back({concat("bias_gradient_", rows, "x", cols, "_stride_", stride),
                   [=, rows = rows, cols = cols, stride = stride](Operands& o) {
                     float *db = o.in_out(cols), *dy = o.in(rows * stride);
                     return bias_gradient({db, cols}, {dy, rows, cols, stride}, 0.5f,
                                          o.workspace(bias_gradient_workspace_bytes(rows, cols)), o.stream());
                   }});
  for (const int64_t classes : {12, 300, 2000})
    all.push_back({concat("softmax_cross_entropy_", classes), [=](Operands& o) {
                     constexpr int64_t kRows = 5;
                     float *gradient = o.out(kRows * classes), *logits = o.in(kRows * classes);
                     int32_t* labels = o.in<int32_t>({0, 11, 3, 4, 7});
                     return softmax_cross_entropy(
                         matrix(gradient, kRows, classes), o.aligned(LossStats{}),
                         matrix<const float>(logits, kRows, classes), {labels, kRows}, 0.5f,
                         o.workspace(softmax_cross_entropy_workspace_bytes(kRows, classes)), o.stream());
                   }});
  all.push_back({"squared_error", [](Operands& o) {
                   float *gradient = o.out(40 * 32), *prediction = o.in(40 * 32), *target = o.in(40 * 32);
                   return squared_error(matrix(gradient, 40, 32), o.aligned(LossStats{}),
                                        matrix<const float>(prediction, 40, 32),
                                        matrix<const float>(target, 40, 32), 0.5f,
                                        o.workspace(squared_error_workspace_bytes(40, 32)), o.stream());
                 }});
}

// A number of channels that every pack width divides, also the width of a vector register.
constexpr int64_t kChannels = 32;

template <class T>
void add_batch_norm(std::vector<Operation>& all, int64_t rows) {
  const int64_t size = rows * kChannels;
  const std::string suffix =
      concat("_", rows, dtype_of<T> == DType::float32 ? "" : concat("_", name_of(dtype_of<T>)));
  const auto as_matrix = [=](T* data) { return data ? matrix(data, rows, kChannels) : MatrixView<T>{}; };
  const auto in = [=](Operands& o) {
    const std::vector<float> values = exact_values(size, static_cast<uint64_t>(o.count() + 1));
    return o.in(std::vector<T>(values.begin(), values.end()));
  };
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
             double* sums = o.in(std::vector<double>(2 * kChannels, 0.25));
             return batch_norm_backward(as_matrix(dx), as_matrix(dr), as_matrix(dy),
                                        {as_matrix(x), {mean, kChannels}, {inv, kChannels}, as_matrix(y)},
                                        {gamma, kChannels}, {sums, 2 * kChannels}, rows, o.stream());
           }});
  }
}

void add_batch_norm_statistics(std::vector<Operation>& all) {
  all.push_back({"batch_norm_statistics", [](Operands& o) {
                   float *mean = o.out(kChannels), *inv = o.out(kChannels),
                         *running_mean = o.in_out(kChannels), *running_variance = o.in_out(kChannels);
                   double* sums = o.in(std::vector<double>(2 * kChannels, 2));
                   return batch_norm_statistics(
                       {mean, kChannels}, {inv, kChannels},
                       {{running_mean, kChannels}, {running_variance, kChannels}, 0.25f},
                       {sums, 2 * kChannels}, 10, 1e-5f, o.stream());
                 }});
  all.push_back({"batch_norm_inv_std", [](Operands& o) {
                   float *inv = o.out(kChannels), *variance = o.in(positive(exact_values(kChannels, 1)));
                   return batch_norm_inv_std({inv, kChannels}, {variance, kChannels}, 1e-5f, o.stream());
                 }});
}

void add_pools(std::vector<Operation>& all, const std::string& name, const PoolWindow& window) {
  constexpr int64_t kSide = 6;
  const int64_t side = pooled_size(kSide, window.height, window.stride_h, window.pad_h);
  const int64_t x_size = 2 * kSide * kSide * 8, y_size = 2 * side * side * 8;
  const auto x_view = [](auto* data) { return ImageView{data, 2, kSide, kSide, 8}; };
  const auto y_view = [=](auto* data) { return ImageView{data, 2, side, side, 8}; };
  all.push_back({"max_pool_" + name, [=](Operands& o) {
                   float *y = o.out(y_size), *x = o.in(x_size);
                   return max_pool(y_view(y), x_view(x), window, o.stream());
                 }});
  // Every element of y is 0.5. The elements of x that equal it count as the maximum of their windows.
  all.push_back({"max_pool_backward_" + name, [=](Operands& o) {
                   float *dx = o.out(x_size), *dy = o.in(y_size),
                         *y = o.in(std::vector<float>(static_cast<size_t>(y_size), 0.5f)), *x = o.in(x_size);
                   return max_pool_backward(x_view(dx), y_view(dy), y_view(y), x_view(x), window, o.stream());
                 }});
  for (const AverageOver over : {AverageOver::window, AverageOver::image}) {
    const std::string suffix = name + (over == AverageOver::window ? "_over_window" : "_over_image");
    all.push_back({"avg_pool_" + suffix, [=](Operands& o) {
                     float *y = o.out(y_size), *x = o.in(x_size);
                     return avg_pool(y_view(y), x_view(x), window, over, o.stream());
                   }});
    all.push_back({"avg_pool_backward_" + suffix, [=](Operands& o) {
                     float *dx = o.out(x_size), *dy = o.in(y_size);
                     return avg_pool_backward(x_view(dx), y_view(dy), window, over, o.stream());
                   }});
    all.push_back({"avg_pool_relu_backward_" + suffix, [=](Operands& o) {
                     float *dz = o.out(x_size), *dy = o.in(y_size), *x = o.in(x_size);
                     return avg_pool_relu_backward(x_view(dz), y_view(dy), x_view(x), window, over,
                                                   o.stream());
                   }});
  }
}

void add_gemms(std::vector<Operation>& all) {
  constexpr int64_t kM = 36, kN = 40, kK = 64;
  for (const GemmVariant& variant : gemm_variants())
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true})
        all.push_back(
            {concat(function_of(variant), transpose_a ? "_at" : "", transpose_b ? "_bt" : ""),
             [=, run = variant.run](Operands& o) {
               float *c = o.in_out(kM * kN), *a = o.in(kM * kK), *b = o.in(kK * kN), *bias = o.in(kN);
               return run(
                   matrix(c, kM, kN),
                   transpose_a ? matrix<const float>(a, kK, kM) : matrix<const float>(a, kM, kK),
                   transpose_b ? matrix<const float>(b, kN, kK) : matrix<const float>(b, kK, kN),
                   {.transpose_a = transpose_a, .transpose_b = transpose_b, .beta = 0.5f, .bias = {bias, kN}},
                   {}, o.stream());
             }});
}

template <class T>
void add_tensor_products(std::vector<Operation>& all) {
  constexpr int64_t kM = 40, kN = 40, kK = 64;
  const auto values = [](int64_t size, uint64_t seed) {
    const std::vector<float> floats = exact_values(size, seed);
    return std::vector<T>(floats.begin(), floats.end());
  };
  struct Form {
    const char* name;
    bool transpose_a, transpose_b;
    int64_t gap;  // between two rows of C: with 1, only some rows begin at a boundary
  };
  for (const TensorProduct<T>& product : tensor_products<T>())
    for (const auto& [name, transpose_a, transpose_b, gap] : {Form{"", false, false, 0},
                                                              {"_bt", false, true, 0},
                                                              {"_at", true, false, 0},
                                                              {"_at_bt", true, true, 0},
                                                              {"_bt_with_gaps", false, true, 1}}) {
      if (product.uses_wgmma && std::is_same_v<T, float> && (transpose_a || !transpose_b)) continue;
      all.push_back(
          {concat(product.name, "_", name_of(dtype_of<T>), name),
           [=, transpose_a = transpose_a, transpose_b = transpose_b, stride = kN + gap](Operands& o) {
             const auto in = [&](const std::vector<T>& all_values) {
               return product.uses_wgmma ? o.in_aligned(all_values) : o.in(all_values);
             };
             T *c = o.in_out(values(kM * stride, 1)), *a = in(values(kM * kK, 2)),
               *b = in(values(kK * kN, 3));
             const GemmOptions options = {.transpose_a = transpose_a,
                                          .transpose_b = transpose_b,
                                          .beta = 0.5f,
                                          .bias = {o.in(kN), kN},
                                          .math = product.math};
             return product.run(MatrixView<T>{c, kM, kN, stride},
                                transpose_a ? matrix<const T>(a, kK, kM) : matrix<const T>(a, kM, kK),
                                transpose_b ? matrix<const T>(b, kN, kK) : matrix<const T>(b, kK, kN),
                                options, {}, o.stream());
           }});
    }
}

void add_convolutions(std::vector<Operation>& all, const std::string& name, const ConvCase& c) {
  all.push_back(
      {"conv2d_forward_" + name, [=](Operands& o) {
         float *y = o.out(c.y_size()), *x = o.in(c.x_size()), *filter = o.in(c.filter_size()),
               *bias = o.in(c.k), *residual = o.in(c.y_size());
         double* const sums = o.out<double>(2 * c.k);
         return conv2d_forward(
             y_view(c, y), x_view<const float>(c, x), filter_view<const float>(c, filter), c.options,
             {.bias = {bias, c.k}, .residual = y_view<const float>(c, residual), .sums = {sums, 2 * c.k}},
             o.workspace(workspace_bytes(c).forward_sums), o.stream());
       }});
  all.push_back({"conv2d_data_gradient_" + name, [=](Operands& o) {
                   float *dx = o.out(c.x_size()), *dy = o.in(c.y_size()), *filter = o.in(c.filter_size());
                   return conv2d_data_gradient(x_view(c, dx), y_view<const float>(c, dy),
                                               filter_view<const float>(c, filter), c.options,
                                               o.workspace(workspace_bytes(c).data_gradient), o.stream());
                 }});
  all.push_back({"conv2d_filter_gradient_" + name, [=](Operands& o) {
                   float *dw = o.out(c.filter_size()), *dy = o.in(c.y_size()), *x = o.in(c.x_size());
                   return conv2d_filter_gradient(filter_view(c, dw), y_view<const float>(c, dy),
                                                 x_view<const float>(c, x), c.options,
                                                 o.workspace(workspace_bytes(c).filter_gradient), o.stream());
                 }});
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> operations = [] {
    std::vector<Operation> all;
    for (const int64_t size : {kWithTail, kWholeBlocks}) add_flat_operations(all, size);
    add_data_and_losses(all);
    add_batch_norm_statistics(all);
    for (const int64_t rows : {40, 600}) add_batch_norm<float>(all, rows);
    add_batch_norm<__nv_bfloat16>(all, 40);
    add_batch_norm<__half>(all, 40);
    add_pools(all, "2x2", {2, 2, 2, 2, 0, 0});
    add_pools(all, "3x3", {3, 3, 2, 2, 1, 1});
    add_gemms(all);
    add_tensor_products<float>(all);
    add_tensor_products<__nv_bfloat16>(all);
    add_tensor_products<__half>(all);
    add_convolutions(all, "first_layer", {1, 5, 20, 1, 8, 3, 3, {1, 1, 1, 1}});
    add_convolutions(all, "direct", {1, 5, 6, 16, 20, 3, 3, {1, 1, 1, 1, ConvAlgorithm::direct}});
    add_convolutions(all, "winograd", {1, 5, 6, 16, 32, 3, 3, {1, 1, 1, 1, ConvAlgorithm::winograd}});
    return all;
  }();
  return operations;
}

class Alignment : public testing::TestWithParam<Operation> {
 protected:
  std::vector<unsigned char> results(Operands&& operands) {
    EXPECT_TRUE(ok(GetParam().run(operands)));
    operand_count = operands.count();
    return operands.results();
  }
  int operand_count = 0;
};

TEST_P(Alignment, OfOneOperandDoesNotChangeTheResult) {
  const std::vector<unsigned char> want = results(Operands(0));
  ASSERT_FALSE(want.empty());
  const int operands = operand_count;
  for (int64_t offset = 0; offset < 4; ++offset) {
    EXPECT_TRUE(all_equal_bits(results(Operands(offset)), want)) << "all " << offset << " from alignment";
    for (int which = 0; which < (GetParam().long_arrays ? 1 : operands); ++which)
      for (int64_t other = 0; other < (GetParam().long_arrays ? 1 : 4); ++other)
        if (other != offset) {
          EXPECT_TRUE(all_equal_bits(results(Operands(offset, which, other)), want))
              << "operand " << which << " is " << other << " from alignment, the others " << offset;
        }
  }
}

TEST(AlignedOperations, CoverAllDeclaredOperations) {
  EXPECT_GT(declared_operations().size(), 30u);
  // These access one element at a time, so their alignment is not tested.
  const std::set<std::string> narrow = {"adam_begin_step", "advance", "mark_nonfinite_loss", "shuffle"};
  for (const std::string& name : declared_operations()) {
    const bool here = std::any_of(operations().begin(), operations().end(), [&](const Operation& operation) {
      return operation.name == name || operation.name.starts_with(name + "_");
    });
    EXPECT_NE(here, narrow.contains(name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Alignment, testing::ValuesIn(operations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rondo::test
