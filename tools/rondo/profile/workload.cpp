#include <rondo/bench/operators/conv.h>
#include <rondo/bench/operators/gemm.h>
#include <rondo/collectives/collectives.h>
#include <rondo/collectives/communicator.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
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

// The operands of a call, once, and the stream on which it runs.
struct Data {
  bench::OperandSets operands;
  Stream stream;
};

// `call` on `data`, or on operands of its own.
Workload work_of_call(const bench::OperatorCall& call, std::string part,
                      std::shared_ptr<Data> data = nullptr) {
  if (!data) data = std::make_shared<Data>(bench::make_operands(call, 1), Stream());
  return {call.name, std::move(part), call.work.flops,
          [enqueue = call.enqueue, data] { throw_if_error(enqueue(data->operands.set(0), data->stream)); }};
}

// A part for each pass of the operator, or one.
std::vector<Workload> operator_work(const std::string& name, bench::OperatorRequest request) {
  const bench::OperatorKind& kind = *bench::find_kind(*bench::find_operator(name), request.kind);
  if (kind.passes.empty()) return {work_of_call(bench::make_call(name, request), "")};
  std::vector<Workload> works;
  for (const std::string& pass : kind.passes) {
    request.pass = pass;
    works.push_back(work_of_call(bench::make_call(name, request), pass));
  }
  return works;
}

template <class T>
std::vector<Workload> gemm_work(const ProfileArguments& a) {
  check_math_of_type(a);
  const bench::OperatorRequest request = gemm_request(a);
  // Operands of gemm() begin at multiples of 256 bytes, as those that the plan is chosen for.
  const GemmProblem problem =
      bench::packed_problem({a.m, a.n, a.k}, arithmetic_of(a.type, a.math), a.transpose_a, a.transpose_b);
  const bool wgmma =
      check_wgmma("").ok() && wgmma_unsupported(problem).reason == WgmmaUnsupported::Reason::none;

  std::vector<Workload> works;
  std::shared_ptr<Data> data;
  std::string ids;
  for (const GemmRun<T>& variant : gemm_runs<T>(a.math)) {
    ids += (ids.empty() ? "" : ", ") + std::string(variant.id);
    if (a.variant != "all" && a.variant != variant.id) continue;
    if (a.variant == "all" && variant.uses_wgmma && !wgmma) continue;  // it refuses these operands
    const bench::OperatorCall call = bench::gemm_call<T>(request, variant.run);
    if (!data) data = std::make_shared<Data>(bench::make_operands(call, 1), Stream());
    works.push_back(work_of_call(call, variant.id, data));
  }
  if (works.empty())
    throw Error(bad_argument("--variant is '", a.variant, "', must be all or one of: ", ids));
  return works;
}

std::vector<Workload> conv_work(const ProfileArguments& a) {
  check_math_of_type(a);
  const int64_t p = conv2d_output_size(a.height, a.filter_size, a.stride, a.pad);
  const int64_t q = conv2d_output_size(a.width, a.filter_size, a.stride, a.pad);
  if (p == 0 || q == 0)
    throw Error(bad_argument("--filter-size is ", a.filter_size, ", must be at most the padded image: ",
                             a.height + 2 * a.pad, " x ", a.width + 2 * a.pad));
  const std::vector<ConvKernels> algorithms = conv_kernels(
      a, {nullptr, a.images, a.height, a.width, a.channels}, {nullptr, a.images, p, q, a.filters},
      {nullptr, a.filters, a.filter_size, a.filter_size, a.channels});
  bench::OperatorRequest request = {.shape = {{"n", a.images},
                                              {"h", a.height},
                                              {"w", a.width},
                                              {"c", a.channels},
                                              {"k", a.filters},
                                              {"r", a.filter_size},
                                              {"s", a.filter_size},
                                              {"stride", a.stride},
                                              {"pad", a.pad},
                                              {"dilation", 1},
                                              {"groups", 1}},
                                    .type = a.type,
                                    .math = a.math};
  std::vector<Workload> works;
  for (const ConvKernels& kernels : algorithms) {
    const auto add = [&](const char* pass, ConvPlan ConvPlans::*plan) {
      if (a.pass != "all" && a.pass != pass) return;
      request.pass = pass;
      const std::optional<ConvPlan> chosen =
          kernels.plans ? std::optional((*kernels.plans).*plan) : std::nullopt;
      works.push_back(
          work_of_call(bench::conv_call(request, kernels.options.algorithm, chosen, kernels.workspace_bytes),
                       a.algorithm == "all" ? concat(kernels.name, " ", pass) : pass));
    };
    add("forward", &ConvPlans::forward);
    add("data_gradient", &ConvPlans::data_gradient);
    add("filter_gradient", &ConvPlans::filter_gradient);
  }
  return works;
}

std::vector<Workload> pool_work(const ProfileArguments& a) {
  const bool average = a.pool == "avg";
  if (average && a.dilation != 1)
    throw Error(bad_argument("--dilation is ", a.dilation, ", must be 1 with --kind avg"));
  if (average && a.indices) throw Error(bad_argument("--indices was given with --kind avg, which has none"));
  return operator_work("pool", {.shape = {{"n", a.images},
                                          {"h", a.height},
                                          {"w", a.width},
                                          {"c", a.channels},
                                          {"window", a.window},
                                          {"stride", a.pool_stride.value_or(a.window)},
                                          {"pad", a.pool_pad},
                                          {"dilation", a.dilation}},
                                .kind = a.indices ? "max_indices" : a.pool,
                                .type = a.type});
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
    data->optimizer = std::make_unique<nn::Adam>(*data->model, nn::Adam::Options{.learning_rate = 1e-4f});
    return {{name, "", 0, [=] { data->model->train_step(data->x, data->targets, *data->optimizer); }}};
  }
  data->optimizer = std::make_unique<nn::Sgd>(*data->model, nn::Sgd::Options{.learning_rate = 0.1f});
  return {{name, "", 0, [=] { data->model->train_step(data->x, data->labels, *data->optimizer); }}};
}

// T: the type of the operands, except in train.
template <class T>
std::vector<Workload> work_of(const ProfileArguments& a) {
  switch (a.work) {
    case ProfiledWork::gemm:
      return gemm_work<T>(a);
    case ProfiledWork::conv:
      return conv_work(a);
    case ProfiledWork::pool:
      return pool_work(a);
    case ProfiledWork::batch_norm:
      return operator_work(
          "norm", {.shape = {{"rows", a.rows}, {"channels", a.channels}}, .kind = "batch", .type = a.type});
    case ProfiledWork::cross_entropy:
      return operator_work("loss", {.shape = {{"rows", a.rows}, {"classes", a.classes}},
                                    .kind = "softmax_cross_entropy",
                                    .type = a.type});
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
