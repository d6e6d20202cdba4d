// Operations on flat arrays.
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/kernels/data/fill.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/reduce/count_differences.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/tests/kernels/operations/operations.h>
#include <rondo/tests/kernels/operations/positive.h>

#include <cmath>
#include <string>
#include <utility>

namespace rondo::test {
namespace {

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
  using Forward = Status (*)(VectorView<float>, VectorView<const float>, cudaStream_t);
  for (const auto& [name, run] : {std::pair<const char*, Forward>{"gelu", gelu<float>},
                                  {"gelu_tanh", gelu_tanh<float>},
                                  {"sigmoid", sigmoid<float>}})
    add_one(name, [=, run = run](Operands& o) {
      float *y = o.out(size), *x = o.in(size);
      return run({y, size}, {x, size}, o.stream());
    });
  using Backward =
      Status (*)(VectorView<float>, VectorView<const float>, VectorView<const float>, cudaStream_t);
  for (const auto& [name, run] : {std::pair<const char*, Backward>{"gelu_backward", gelu_backward<float>},
                                  {"gelu_tanh_backward", gelu_tanh_backward<float>},
                                  {"sigmoid_backward", sigmoid_backward<float>}})
    add_one(name, [=, run = run](Operands& o) {
      float *dx = o.out(size), *dy = o.in(size), *saved = o.in(size);
      return run({dx, size}, {dy, size}, {saved, size}, o.stream());
    });
  const int64_t cols = size == kWithTail ? 17 : 64, rows = size / cols;
  add_one("add_bias", [=](Operands& o) {
    float *y = o.out(rows * cols), *x = o.in(rows * cols), *bias = o.in(cols);
    return add_bias(matrix(y, rows, cols), matrix<const float>(x, rows, cols), {bias, cols}, o.stream());
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
    auto* const gradient = o.in(o.values_of<__nv_bfloat16>(size));
    return sgd_update({p, size}, VectorView<__nv_bfloat16>{copy, size}, {v, size},
                      VectorView<const __nv_bfloat16>{gradient, size}, o.aligned(0.1f), {0.5f, 0.9f, 0.01f},
                      o.stream());
  });
  add_one("adam_update", [=](Operands& o) {
    float *p = o.in_out(size), *m = o.in_out(size), *v = o.in_out(positive(o.values(size))), *g = o.in(size);
    return adam_update({p, size}, {m, size}, {v, size}, {g, size}, o.aligned(AdamState{3, 0.5f, 0.25f, 0.1f}),
                       {}, o.stream());
  });
}

}  // namespace

void add_flat_operations(std::vector<Operation>& all) {
  for (const int64_t size : {kWithTail, kWholeBlocks}) add_flat_operations(all, size);
}

}  // namespace rondo::test
