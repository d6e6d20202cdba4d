// Batches of images, conversions of layouts, reductions, losses; and the operations that access one element
// at a time.
#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/data/columns.h>
#include <rondo/kernels/layout/transpose.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/nonfinite_loss.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/softmax/softmax.h>
#include <rondo/tests/kernels/operations/operations.h>

#include <array>

namespace rondo::test {
namespace {

LossStats* loss_stats(Operands& o) {
  return o.aligned_out<LossStats>([](LossStats&) {});
}

template <class T>
void add_layout_conversions(std::vector<Operation>& all) {
  constexpr int64_t kImages = 2, kSide = 6, kChannels = 70, kSize = kImages * kSide * kSide * kChannels;
  const auto add = [&](const char* name, const std::function<Status(Operands&, T * y, const T* x)>& run) {
    all.push_back(
        {dtype_of<T> == DType::float32 ? name : concat(name, "_", name_of(dtype_of<T>)), [=](Operands& o) {
           T* const y = o.out<T>(kSize);
           return run(o, y, o.in(o.values_of<T>(kSize)));
         }});
  };
  add("transpose", [](Operands& o, T* y, const T* x) {
    return transpose<T>({y, kImages, kChannels, kSide * kSide}, {x, kImages, kSide * kSide, kChannels},
                        o.stream());
  });
  add("nchw_to_nhwc", [](Operands& o, T* y, const T* x) {
    return nchw_to_nhwc<T>({y, kImages, kSide, kSide, kChannels}, {x, kSize}, o.stream());
  });
  add("nhwc_to_nchw", [](Operands& o, T* y, const T* x) {
    return nhwc_to_nchw<T>({y, kSize}, {x, kImages, kSide, kSide, kChannels}, o.stream());
  });
  add("oihw_to_krsc", [](Operands& o, T* y, const T* x) {
    return oihw_to_krsc<T>({y, kImages, kSide, kSide, kChannels}, {x, kSize}, o.stream());
  });
  add("krsc_to_oihw", [](Operands& o, T* y, const T* x) {
    return krsc_to_oihw<T>({y, kSize}, {x, kImages, kSide, kSide, kChannels}, o.stream());
  });
}

template <class T>
void add_losses_with_options(std::vector<Operation>& all) {
  constexpr int64_t kRows = 3;
  for (const int64_t cols : {64, 330, 2080, 8224}) {
    const std::string suffix =
        concat("_", cols, dtype_of<T> == DType::float32 ? "" : concat("_", name_of(dtype_of<T>)));
    const auto in = [=](Operands& o) {
      return matrix<const T>(o.in(o.values_of<T>(kRows * cols)), kRows, cols);
    };
    const auto out = [=](Operands& o) { return matrix(o.out<T>(kRows * cols), kRows, cols); };
    all.push_back({"cross_entropy" + suffix, [=](Operands& o) {
                     const auto gradient = out(o);
                     float *loss = o.out(1), *losses = o.out(kRows), *weights = o.in(cols);
                     const auto logits = in(o);
                     int32_t* labels = o.in<int32_t>({7, -100, 60});
                     return cross_entropy(gradient, loss, {losses, kRows}, logits, {labels, kRows},
                                          {.class_weights = {weights, cols}, .label_smoothing = 0.25f},
                                          o.workspace(cross_entropy_workspace_bytes(kRows, cols)),
                                          o.stream());
                   }});
    all.push_back({"cross_entropy_of_probabilities" + suffix, [=](Operands& o) {
                     const auto gradient = out(o);
                     float *loss = o.out(1), *losses = o.out(kRows), *weights = o.in(cols);
                     const auto logits = in(o);
                     return cross_entropy_of_probabilities(
                         gradient, loss, {losses, kRows}, logits, in(o),
                         {.class_weights = {weights, cols}, .label_smoothing = 0.25f},
                         o.workspace(cross_entropy_workspace_bytes(kRows, cols)), o.stream());
                   }});
    all.push_back({"binary_cross_entropy" + suffix, [=](Operands& o) {
                     const auto gradient = out(o);
                     float *loss = o.out(1), *losses = o.out(kRows), *weights = o.in(cols),
                           *positive = o.in(cols);
                     const auto logits = in(o);
                     return binary_cross_entropy(
                         gradient, loss, {losses, kRows}, logits, in(o),
                         {.weights = {weights, cols}, .positive_weights = {positive, cols}},
                         o.workspace(binary_cross_entropy_workspace_bytes(kRows, cols)), o.stream());
                   }});
  }
}

// One call for each kind of team, of rows with whole accesses and without.
template <class T>
void add_softmax(std::vector<Operation>& all) {
  constexpr int64_t kRows = 3;
  for (const int64_t cols : {64, 66, 320, 2080, 8224, 9001}) {
    const std::string suffix =
        concat("_", cols, dtype_of<T> == DType::float32 ? "" : concat("_", name_of(dtype_of<T>)));
    const auto in = [=](Operands& o) {
      return matrix<const T>(o.in(o.values_of<T>(kRows * cols)), kRows, cols);
    };
    const auto out = [=](Operands& o) { return matrix(o.out<T>(kRows * cols), kRows, cols); };
    const auto workspace = [=](Operands& o) { return o.workspace(softmax_workspace_bytes(kRows, cols)); };
    all.push_back({"softmax" + suffix, [=](Operands& o) {
                     const auto y = out(o);
                     return softmax(y, in(o), workspace(o), o.stream());
                   }});
    all.push_back({"log_softmax" + suffix, [=](Operands& o) {
                     const auto y = out(o);
                     return log_softmax(y, in(o), workspace(o), o.stream());
                   }});
    all.push_back({"softmax_backward" + suffix, [=](Operands& o) {
                     const auto dx = out(o);
                     const auto dy = in(o);
                     return softmax_backward(dx, dy, in(o), workspace(o), o.stream());
                   }});
    all.push_back({"log_softmax_backward" + suffix, [=](Operands& o) {
                     const auto dx = out(o);
                     const auto dy = in(o);
                     return log_softmax_backward(dx, dy, in(o), workspace(o), o.stream());
                   }});
  }
}

}  // namespace

// S: of the images, uint8_t or float. L: of the labels, uint8_t or int32_t.
template <class S, class L>
void add_gathers(std::vector<Operation>& all, const std::string& suffix) {
  constexpr int64_t kSamples = 5, kShard = 3;
  for (const bool augmented : {false, true})
    all.push_back(
        {(augmented ? "gather_augmented_batch" : "gather_batch") + suffix, [augmented](Operands& o) {
           std::vector<S> values(kSamples * 32);
           for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(37 * i);
           const ImageView<float> x = {o.out(kShard * 32), kShard, 4, 4, 2};
           const VectorView<int32_t> labels = {o.out<int32_t>(kShard), kShard};
           const ImageView<const S> images = {o.in(values), kSamples, 4, 4, 2};
           const VectorView<const L> image_labels = {o.in(std::vector<L>(kSamples)), kSamples};
           const VectorView<const int32_t> order = {o.in<int32_t>({4, 0, 3, 1, 2}), kSamples};
           const BatchPosition position = {o.aligned<int64_t>(0), kSamples, 1};
           if (!augmented)
             return gather_batch(x, labels, images, image_labels, order, position, 0.5f, -1, o.stream());
           const VectorView<const float> scale = {o.in<float>({0.5f, 2}), 2},
                                         shift = {o.in<float>({-1, 1}), 2};
           return gather_augmented_batch(x, labels, images, image_labels, order, position, scale, shift,
                                         {.padding = 1, .flip = 0.5f, .erase = 0.5f},
                                         {1, o.aligned<int64_t>(1)}, o.stream());
         }});
}

void add_data_and_losses(std::vector<Operation>& all) {
  add_layout_conversions<float>(all);
  add_layout_conversions<__nv_bfloat16>(all);
  add_layout_conversions<__half>(all);
  add_losses_with_options<float>(all);
  add_losses_with_options<__nv_bfloat16>(all);
  add_losses_with_options<__half>(all);
  add_softmax<float>(all);
  add_softmax<__nv_bfloat16>(all);
  add_softmax<__half>(all);
  add_gathers<uint8_t, uint8_t>(all, "");
  add_gathers<float, int32_t>(all, "_of_floats");
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
                         matrix(gradient, kRows, classes), loss_stats(o),
                         matrix<const float>(logits, kRows, classes), {labels, kRows}, 0.5f,
                         o.workspace(softmax_cross_entropy_workspace_bytes(kRows, classes)), o.stream());
                   }});
  all.push_back({"squared_error", [](Operands& o) {
                   float *gradient = o.out(40 * 32), *prediction = o.in(40 * 32), *target = o.in(40 * 32);
                   return squared_error(matrix(gradient, 40, 32), loss_stats(o),
                                        matrix<const float>(prediction, 40, 32),
                                        matrix<const float>(target, 40, 32), 0.5f,
                                        o.workspace(squared_error_workspace_bytes(40, 32)), o.stream());
                 }});
}

const std::vector<Operation>& narrow_operations() {
  static const std::vector<Operation> operations = {
      {"adam_begin_step",
       [](Operands& o) {
         AdamState* const state = o.aligned_out<AdamState>([](AdamState& s) { s.steps = 6; });
         return adam_begin_step(state, o.in(1), {}, o.stream());
       }},
      {"advance",
       [](Operands& o) {
         return advance(o.aligned_out<int64_t>([](int64_t& counter) { counter = 5; }), 7, o.stream());
       }},
      {"mark_nonfinite_loss",
       [](Operands& o) {
         LossStats* const loss = o.aligned_out<LossStats>([](LossStats& s) { s.bad_labels = 1; });
         return mark_nonfinite_loss(o.in_out(1), loss, o.stream());
       }},
      {"shuffle",
       [](Operands& o) {
         return shuffle({o.out<int32_t>(301), 301}, 9, o.aligned<int64_t>(3), o.stream());
       }},
  };
  return operations;
}

}  // namespace rondo::test
