#include <rondo/bench/operators/gemm.h>
#include <rondo/bench/operators/product_sample.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/gemm/gemm.h>

#include <algorithm>

namespace rondo::bench {
namespace {

std::string plan_text(const OperatorRequest& r, int64_t batches, const GemmShape& shape) {
  DeviceProperties device;
  throw_if_error(device_properties(&device));
  const GemmProblem problem =
      packed_problem(shape, arithmetic_of(r.type, r.math), r.transpose_a, r.transpose_b);
  const GemmPlan plan =
      batches > 1 ? choose_batched_gemm_plan(problem, batches, device) : choose_gemm_plan(problem, device);
  return concat(batches > 1 ? "gemm_strided_batched(), " : "", rung_of(plan), ", ", plan);
}

template <class T>
OperatorCall matrix_call(const OperatorRequest& r, TensorRung::Run<T> run) {
  throw_if_error(check_factor_type("gemm", r.type));
  throw_if_error(check_math("gemm", r.math));
  const int64_t batches = r.shape["batch"], m = r.shape["m"], n = r.shape["n"], k = r.shape["k"];
  const GemmOptions options = {.transpose_a = r.transpose_a, .transpose_b = r.transpose_b, .math = r.math};
  OperatorCall call;
  call.name = gemm_text(r);
  call.arithmetic = arithmetic_of(r.type, r.math);
  call.work.flops = 2 * static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) *
                    static_cast<double>(k);
  OperandList& list = call.operands;
  const auto a = list.input<T>(saturating_product({batches, m, k})),
             b = list.input<T>(saturating_product({batches, k, n}));
  const auto c = list.result<T>(saturating_product({batches, m, n}));
  const int64_t rows_a = r.transpose_a ? k : m, rows_b = r.transpose_b ? n : k;
  if (batches == 1) {
    int64_t bytes = gemm_workspace_bytes({m, n, k}, options, r.type);
    if (run) bytes = std::max(bytes, gemm_tc_09_workspace_bytes({m, n, k}));
    const auto workspace = list.scratch(bytes);
    call.enqueue = [=, run = run ? run : gemm<T, const T, const T>](const Operands& o, cudaStream_t stream) {
      return run(matrix(o[c], m, n), matrix<const T>(o[a], rows_a, m * k / rows_a),
                 matrix<const T>(o[b], rows_b, n * k / rows_b), options, {o[workspace], bytes}, stream);
    };
  } else {
    call.enqueue = [=](const Operands& o, cudaStream_t stream) {
      return gemm_strided_batched(MatrixBatchView<T>{o[c], batches, m, n},
                                  MatrixBatchView<const T>{o[a], batches, rows_a, m * k / rows_a},
                                  MatrixBatchView<const T>{o[b], batches, rows_b, n * k / rows_b}, options,
                                  stream);
    };
  }
  call.is_right = [=, math = r.math](const HostOperands& host) {
    return is_product<T>({batches, m, n, k, options.transpose_a, options.transpose_b}, math, host.after(a),
                         host.after(b), host.after(c));
  };
  return call;
}

OperatorCall make_gemm(const OperatorRequest& r) {
  OperatorCall call = with_type(r.type, [&]<class T>() { return matrix_call<T>(r, nullptr); });
  call.plan = plan_text(r, r.shape["batch"], {r.shape["m"], r.shape["n"], r.shape["k"]});
  return call;
}

}  // namespace

const char* rung_of(const GemmPlan& plan) {
  switch (plan.tile.instruction) {
    case Instruction::fma:
    case Instruction::vector_fma:
      return "06_pipelined";
    case Instruction::mma:
      return "tc_04_pipelined";
    case Instruction::wgmma:
      break;
  }
  if (plan.stream_k_blocks > 0) return "tc_09_stream_k";
  return plan.tile.cluster_blocks > 1 ? "tc_08_clusters" : "tc_07_persistent";
}

GemmProblem packed_problem(const GemmShape& shape, Arithmetic arithmetic, bool transpose_a,
                           bool transpose_b) {
  const auto [m, n, k] = shape;
  return {shape,
          arithmetic,
          {transpose_a ? Order::mn_major : Order::k_major, 0, transpose_a ? m : k},
          {transpose_b ? Order::k_major : Order::mn_major, 0, transpose_b ? k : n}};
}

std::string gemm_text(const OperatorRequest& r) {
  const int64_t batches = r.shape["batch"];
  return concat(batches == 1 ? "gemm " : concat(counted(batches, "gemm"), " of "), r.shape["m"], " x ",
                r.shape["n"], " x ", r.shape["k"], r.transpose_a ? ", A transposed" : "",
                r.transpose_b ? ", B transposed" : "",
                r.math == Math::fp32 ? "" : concat(", ", name_of(r.math)), type_suffix(r.type));
}

template <class T>
OperatorCall gemm_call(const OperatorRequest& request, TensorRung::Run<T> run) {
  return matrix_call<T>(request, run);
}
template OperatorCall gemm_call(const OperatorRequest&, TensorRung::Run<float>);
template OperatorCall gemm_call(const OperatorRequest&, TensorRung::Run<__nv_bfloat16>);
template OperatorCall gemm_call(const OperatorRequest&, TensorRung::Run<__half>);

Operator gemm_operator() {
  return {"gemm",
          "A product of matrices, or with batch the products of two strided batches",
          {{"",
            {{"m", "rows of the result", 1024},
             {"n", "columns of the result", 1024},
             {"k", "products per result", 1024},
             {"batch", "products; more than 1: gemm_strided_batched()", 1}},
            {},
            make_gemm}},
          true};
}

}  // namespace rondo::bench
