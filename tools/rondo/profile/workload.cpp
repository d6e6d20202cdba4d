#include <rondo/collectives/collectives.h>
#include <rondo/collectives/communicator.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tools/rondo/profile/conv_algorithms.h>
#include <rondo/tools/rondo/profile/plan.h>
#include <rondo/tools/rondo/profile/workload.h>

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

namespace rondo::program {
namespace {

// Values between -1 and 1 that repeat after a prime number of elements. The counters of most kernels don't
// depend on values.
std::vector<float> values(int64_t size) {
  std::vector<float> data(static_cast<size_t>(size));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 251) / 125.0f - 1;
  return data;
}
// The device's memory comes first: a size that is too large for it fails before the host's memory is used.
template <class T = float>
Buffer<T> filled(int64_t size) {
  Buffer<T> buffer(size);
  const std::vector<float> floats = values(size);
  buffer.upload(std::vector<T>(floats.begin(), floats.end()));
  return buffer;
}

int64_t floats_in(int64_t bytes) { return bytes / 4 + (bytes % 4 == 0 ? 0 : 1); }

// INT64_MAX for a product that is larger, which no memory has.
int64_t elements(const auto&... sides) { return saturating_product({sides...}); }

std::string type_suffix(const ProfileArguments& a) {
  return a.type == DType::float32 ? "" : concat(", ", name_of(a.type));
}

// A rung of the ladder that has the type T and the arithmetic, or gemm().
template <class T>
struct GemmRun {
  const char* id;
  TensorRung::Run<T> run;
  bool uses_wgmma = false;
};
template <class T>
std::vector<GemmRun<T>> gemm_runs(Math math) {
  std::vector<GemmRun<T>> runs;
  if constexpr (std::is_same_v<T, float>) {
    if (math == Math::fp32) {
      for (const GemmVariant& variant : gemm_variants()) runs.push_back({variant.id, variant.run});
      return runs;
    }
    for (const TensorRung& rung : tensor_rungs())
      if (math == Math::tf32 || rung.tf32 == gemm_tc_04_pipelined<float>)
        runs.push_back({rung.id, rung.tf32, rung.uses_wgmma});
  } else {
    for (const TensorRung& rung : tensor_rungs())
      if constexpr (std::is_same_v<T, __half>)
        runs.push_back({rung.id, rung.fp16, rung.uses_wgmma});
      else
        runs.push_back({rung.id, rung.bf16, rung.uses_wgmma});
  }
  runs.push_back({"gemm", gemm});
  return runs;
}

template <class T>
std::vector<Workload> gemm_work(const ProfileArguments& a) {
  check_math_of_type(a);
  struct Data {
    Buffer<T> a, b, c;
    Buffer<float> workspace;
    Stream stream;
  };
  const int64_t m = a.m, n = a.n, k = a.k;
  const auto data =
      std::make_shared<Data>(filled<T>(m * k), filled<T>(k * n), Buffer<T>(m * n), Buffer<float>());
  const MatrixView<T> c = {data->c.data(), m, n, n};
  const MatrixView<const T> left = a.transpose_a ? MatrixView<const T>{data->a.data(), k, m, m}
                                                 : MatrixView<const T>{data->a.data(), m, k, k};
  const MatrixView<const T> right = a.transpose_b ? MatrixView<const T>{data->b.data(), n, k, k}
                                                  : MatrixView<const T>{data->b.data(), k, n, n};
  const GemmOptions options = {.transpose_a = a.transpose_a, .transpose_b = a.transpose_b, .math = a.math};
  data->workspace = Buffer<float>(floats_in(std::max(gemm_workspace_bytes({m, n, k}, options, dtype_of<T>),
                                                     gemm_tc_09_workspace_bytes({m, n, k}))));

  const GemmProblem problem = {
      {m, n, k},
      arithmetic_of(dtype_of<T>, a.math),
      {a.transpose_a ? Order::mn_major : Order::k_major, reinterpret_cast<uintptr_t>(left.data), left.stride},
      {a.transpose_b ? Order::k_major : Order::mn_major, reinterpret_cast<uintptr_t>(right.data),
       right.stride}};
  const bool wgmma =
      check_wgmma("").ok() && wgmma_unsupported(problem).reason == WgmmaUnsupported::Reason::none;

  std::vector<Workload> works;
  std::string ids;
  for (const GemmRun<T>& variant : gemm_runs<T>(a.math)) {
    ids += (ids.empty() ? "" : ", ") + std::string(variant.id);
    if (a.variant != "all" && a.variant != variant.id) continue;
    if (a.variant == "all" && variant.uses_wgmma && !wgmma) continue;  // it refuses these operands
    const auto run = variant.run;
    works.push_back({gemm_text(a), variant.id,
                     2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k), [=] {
                       const Workspace workspace = {data->workspace.data(), data->workspace.bytes()};
                       throw_if_error(run(c, left, right, options, workspace, data->stream));
                     }});
  }
  if (works.empty())
    throw Error(bad_argument("--variant is '", a.variant, "', must be all or one of: ", ids));
  return works;
}

template <class T>
std::vector<Workload> conv_work(const ProfileArguments& a) {
  check_math_of_type(a);
  struct Data {
    Buffer<T> x, y, filter;
    Buffer<float> filter_gradient, workspace;
    Stream stream;
  };
  const int64_t p = conv2d_output_size(a.height, a.filter_size, a.stride, a.pad);
  const int64_t q = conv2d_output_size(a.width, a.filter_size, a.stride, a.pad);
  if (p == 0 || q == 0)
    throw Error(bad_argument("--filter-size is ", a.filter_size, ", must be at most the padded image: ",
                             a.height + 2 * a.pad, " x ", a.width + 2 * a.pad));
  const int64_t filter_elements = elements(a.filters, a.filter_size, a.filter_size, a.channels);
  const auto data = std::make_shared<Data>(filled<T>(elements(a.images, a.height, a.width, a.channels)),
                                           filled<T>(elements(a.images, p, q, a.filters)),
                                           filled<T>(filter_elements), Buffer<float>(filter_elements));
  const ImageView<T> x = {data->x.data(), a.images, a.height, a.width, a.channels};
  const ImageView<T> y = {data->y.data(), a.images, p, q, a.filters};
  const auto filter_of = [&](auto* elements) {
    return FilterView{elements, a.filters, a.filter_size, a.filter_size, a.channels};
  };
  const FilterView<T> filter = filter_of(data->filter.data());
  const FilterView<float> filter_gradient = filter_of(data->filter_gradient.data());
  const ImageView<const float> x_shape = {nullptr, x.images, x.height, x.width, x.channels},
                               y_shape = {nullptr, y.images, y.height, y.width, y.channels};
  const FilterView<const float> filter_shape = filter_of(static_cast<const float*>(nullptr));
  const std::vector<ConvKernels> algorithms = conv_kernels(a, x_shape, y_shape, filter_shape);
  int64_t workspace_bytes = 0;
  for (const ConvKernels& kernels : algorithms) {
    const Conv2dWorkspaceBytes bytes = conv2d_workspace_bytes(x_shape, filter_shape, kernels.options, a.type);
    workspace_bytes = std::max({workspace_bytes, bytes.forward, bytes.data_gradient, bytes.filter_gradient,
                                kernels.workspace_bytes});
  }
  data->workspace = Buffer<float>(floats_in(workspace_bytes));
  const double flops = 2.0 * static_cast<double>(elements(a.images, p, q, a.filters)) *
                       static_cast<double>(elements(a.filter_size, a.filter_size, a.channels));
  const std::string name =
      concat("convolution of ", counted(a.images, "image"), " of ", a.height, " x ", a.width, " x ",
             a.channels, ", ", counted(a.filters, "filter"), " of ", a.filter_size, " x ", a.filter_size,
             ", stride ", a.stride, ", padding ", a.pad, type_suffix(a));
  const auto workspace = [data] { return Workspace{data->workspace.data(), data->workspace.bytes()}; };

  std::vector<Workload> works;
  for (const ConvKernels& kernels : algorithms) {
    const Conv2dOptions options = kernels.options;
    const std::optional<ConvPlans> plans = kernels.plans;
    const auto add = [&](const char* pass, std::function<Status()> run) {
      const std::string part = a.algorithm == "all" ? concat(kernels.name, " ", pass) : pass;
      if (a.pass == "all" || a.pass == pass)
        works.push_back({name, part, flops, [run = std::move(run)] { throw_if_error(run()); }});
    };
    add("forward", [=] {
      return conv2d_forward_with_plan<T>(plans ? &plans->forward : nullptr, y, x, filter, options, {},
                                         workspace(), data->stream);
    });
    add("data_gradient", [=] {
      return conv2d_data_gradient_with_plan<T>(plans ? &plans->data_gradient : nullptr, x, y, filter, options,
                                               {}, workspace(), data->stream);
    });
    add("filter_gradient", [=] {
      return conv2d_filter_gradient_with_plan<T>(plans ? &plans->filter_gradient : nullptr, filter_gradient,
                                                 y, x, options, {}, workspace(), data->stream);
    });
  }
  return works;
}

template <class T>
std::vector<Workload> pool_work(const ProfileArguments& a) {
  struct Data {
    Buffer<T> x, y, dx;
    Stream stream;
  };
  const int64_t stride = a.pool_stride.value_or(a.window), pad = a.pool_pad;
  const PoolWindow window = {.height = a.window,
                             .width = a.window,
                             .stride_h = stride,
                             .stride_w = stride,
                             .pad_h = pad,
                             .pad_w = pad};
  if (pad > a.window / 2)
    throw Error(bad_argument("--pad is ", pad, ", must be at most half of --window: ", a.window / 2));
  const int64_t p = pooled_size(a.height, a.window, stride, pad),
                q = pooled_size(a.width, a.window, stride, pad);
  if (p == 0 || q == 0)
    throw Error(bad_argument("--window is ", a.window, ", must be at most the padded image: ",
                             a.height + 2 * pad, " x ", a.width + 2 * pad));
  const int64_t inputs = elements(a.images, a.height, a.width, a.channels);
  const auto data = std::make_shared<Data>(filled<T>(inputs), filled<T>(elements(a.images, p, q, a.channels)),
                                           Buffer<T>(inputs));
  const ImageView<T> x = {data->x.data(), a.images, a.height, a.width, a.channels};
  const ImageView<T> dx = {data->dx.data(), a.images, a.height, a.width, a.channels};
  const ImageView<T> y = {data->y.data(), a.images, p, q, a.channels};
  const bool average = a.pool == "avg";
  const std::string name =
      concat(average ? "average" : "max", " pooling of ", counted(a.images, "image"), " of ", a.height, " x ",
             a.width, " x ", a.channels, ", windows of ", a.window, " x ", a.window,
             stride == a.window ? "" : concat(", stride ", stride), pad == 0 ? "" : concat(", padding ", pad),
             type_suffix(a));
  return {{name, "forward", 0,
           [=] {
             throw_if_error(average ? avg_pool(y, x, window, AverageOver::window, data->stream)
                                    : max_pool(y, x, window, data->stream));
           }},
          {name, "backward", 0, [=] {
             throw_if_error(average ? avg_pool_backward(dx, y, window, AverageOver::window, data->stream)
                                    : max_pool_backward(dx, y, y, x, window, data->stream));
           }}};
}

template <class T>
std::vector<Workload> batch_norm_work(const ProfileArguments& a) {
  struct Data {
    Buffer<T> x, y;
    Buffer<float> mean, inv_std, gamma, beta, workspace;
    Buffer<double> sums;
    Stream stream;
  };
  const int64_t rows = a.rows, channels = a.channels;
  const auto data = std::make_shared<Data>(
      filled<T>(rows * channels), Buffer<T>(rows * channels), filled(channels), filled(channels),
      filled(channels), filled(channels),
      Buffer<float>(floats_in(batch_norm_workspace_bytes(rows, channels))), Buffer<double>(2 * channels));
  const MatrixView<T> x = {data->x.data(), rows, channels, channels};
  const MatrixView<T> y = {data->y.data(), rows, channels, channels};
  const VectorView<float> mean = {data->mean.data(), channels}, inv_std = {data->inv_std.data(), channels};
  const VectorView<float> gamma = {data->gamma.data(), channels}, beta = {data->beta.data(), channels};
  const VectorView<double> sums = {data->sums.data(), 2 * channels};
  const BatchNormSavedOf<T> saved = {x, mean, inv_std};
  const auto workspace = [data] { return Workspace{data->workspace.data(), data->workspace.bytes()}; };
  const std::string name = concat("batch normalisation of ", counted(rows, "row"), ", ",
                                  counted(channels, "channel"), type_suffix(a));
  return {{name, "forward", 0,
           [=] {
             throw_if_error(batch_norm_sums(sums, x, workspace(), data->stream));
             throw_if_error(batch_norm_statistics(mean, inv_std, {}, sums, rows, 1e-5f, data->stream));
             throw_if_error(batch_norm(y, x, mean, inv_std, gamma, beta, {}, data->stream));
           }},
          {name, "backward", 0, [=] {
             throw_if_error(batch_norm_backward_sums(sums, {}, {}, y, saved, workspace(), data->stream));
             throw_if_error(batch_norm_backward(y, {}, y, saved, gamma, sums, rows, data->stream));
           }}};
}

template <class T>
std::vector<Workload> cross_entropy_work(const ProfileArguments& a) {
  struct Data {
    Buffer<T> logits, gradient;
    Buffer<int32_t> labels;
    Buffer<LossStats> stats;
    Buffer<float> workspace;
    Stream stream;
  };
  const auto data = std::make_shared<Data>(
      filled<T>(a.rows * a.classes), Buffer<T>(a.rows * a.classes), Buffer<int32_t>(a.rows),
      Buffer<LossStats>(std::vector<LossStats>(1)),
      Buffer<float>(floats_in(softmax_cross_entropy_workspace_bytes(a.rows, a.classes))));
  std::vector<int32_t> labels(static_cast<size_t>(a.rows));
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int32_t>(static_cast<int64_t>(i) % a.classes);
  data->labels.upload(labels);
  const MatrixView<T> gradient = {data->gradient.data(), a.rows, a.classes, a.classes};
  const MatrixView<const T> logits = {data->logits.data(), a.rows, a.classes, a.classes};
  return {{concat("softmax cross-entropy of ", counted(a.rows, "row"), ", ",
                  counted(a.classes, "class", "classes"), type_suffix(a)),
           "", 0, [=] {
             throw_if_error(
                 softmax_cross_entropy(gradient, data->stats.data(), logits, {data->labels.data(), a.rows},
                                       1.0f / static_cast<float>(a.rows),
                                       {data->workspace.data(), data->workspace.bytes()}, data->stream));
           }}};
}

template <class T>
std::vector<Workload> all_reduce_work(const ProfileArguments& a) {
  struct Rank {
    Buffer<T> data;
    Stream stream;
  };
  struct Data {
    std::vector<Rank> ranks;
    std::vector<DataView> views;
    std::unique_ptr<Communicator> communicator;
  };
  constexpr int64_t kSize = sizeof(T);
  if (a.bytes % kSize != 0)
    throw Error(bad_argument("--bytes is ", a.bytes, ", must be a multiple of ", kSize, ", the size of a ",
                             name_of(a.type)));
  const auto data = std::make_shared<Data>();
  std::vector<int> devices;
  std::vector<cudaStream_t> streams;
  throw_if_error(request_devices(a.devices));
  for (int device = 0; device < a.devices; ++device) {
    const DeviceScope scope(device);
    devices.push_back(device);
    data->ranks.push_back({filled<T>(a.bytes / kSize), Stream()});
    data->views.emplace_back(data->ranks.back().data.data(), a.bytes / kSize, a.type);
    streams.push_back(data->ranks.back().stream);
  }
  data->communicator = std::make_unique<Communicator>(devices, CommunicatorOptions{});
  const ReduceOptions options = {.algorithm = a.all_reduce};
  return {{concat("all-reduce of ", counted(a.bytes, "byte"), " over ", counted(a.devices, "device"),
                  type_suffix(a)),
           name_of(a.all_reduce), 0,
           [=] { throw_if_error(all_reduce(data->views, options, *data->communicator, streams)); }}};
}

std::vector<Workload> train_work(const ProfileArguments& a) {
  struct Data {
    std::unique_ptr<nn::DataParallel> model;
    std::unique_ptr<nn::Optimizer> optimizer;
    std::vector<float> x, targets;
    std::vector<int32_t> labels;
  };
  const auto data = std::make_shared<Data>();
  nn::NamedModel named = nn::model(a.model);
  if (a.layers) {
    if (a.model != "mlp")
      throw Error(bad_argument("--layers is ", *a.layers, ", which is for mlp: the layers of ", a.model,
                               " are fixed"));
    named.network = nn::mlp(*a.layers);
  }
  data->model = std::make_unique<nn::DataParallel>(
      named.network, named.input,
      nn::DataParallelOptions{
          .batch = a.batch, .math = math_of(a.precision), .activations = element_type(a.precision)});
  data->x = values(a.batch * named.input.size());
  for (int64_t i = 0; i < a.batch; ++i) data->labels.push_back(static_cast<int32_t>(i % 10));
  const std::string name =
      concat("training step of ", a.model, a.layers ? concat(" with ", counted(*a.layers, "layer")) : "",
             ", batch ", a.batch, a.precision == Precision::fp32 ? "" : concat(", ", name_of(a.precision)));
  if (a.model == "mlp") {
    data->targets = values(a.batch * 10);
    data->optimizer = std::make_unique<nn::Adam>(*data->model, nn::AdamOptions{.learning_rate = 1e-4f});
    return {{name, "", 0, [=] { data->model->train_step(data->x, data->targets, *data->optimizer); }}};
  }
  data->optimizer = std::make_unique<nn::Sgd>(*data->model, nn::SgdOptions{.learning_rate = 0.1f});
  return {{name, "", 0, [=] { data->model->train_step(data->x, data->labels, *data->optimizer); }}};
}

// T: the type of the operands, except in train.
template <class T>
std::vector<Workload> work_of(const ProfileArguments& a) {
  switch (a.work) {
    case ProfiledWork::gemm:
      return gemm_work<T>(a);
    case ProfiledWork::conv:
      return conv_work<T>(a);
    case ProfiledWork::pool:
      return pool_work<T>(a);
    case ProfiledWork::batch_norm:
      return batch_norm_work<T>(a);
    case ProfiledWork::cross_entropy:
      return cross_entropy_work<T>(a);
    case ProfiledWork::all_reduce:
      return all_reduce_work<T>(a);
    case ProfiledWork::train:
      return train_work(a);
  }
  return {};
}

}  // namespace

std::vector<Workload> make_workloads(const ProfileArguments& arguments) {
  if (arguments.type == DType::bfloat16) return work_of<__nv_bfloat16>(arguments);
  return arguments.type == DType::float16 ? work_of<__half>(arguments) : work_of<float>(arguments);
}

}  // namespace rondo::program
