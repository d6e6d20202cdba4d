#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/plan.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <vector>

namespace rondo::program {
namespace {

std::string capability_text(int major, int minor) { return concat(major, ".", minor); }

TextRow plan_row(const ProfileArguments& arguments, const simt::GpuProperties& gpu) {
  return {gpu.name, capability_text(gpu.major, gpu.minor), gemm_plan_text(arguments, gpu)};
}

}  // namespace

const simt::GpuProperties& gpu_of(const ProfileArguments& arguments) {
  if (const simt::GpuProperties* const gpu = simt::gpu_named(arguments.gpu)) return *gpu;
  throw Error(bad_argument("--gpu is '", arguments.gpu, "', must be one of: ", simt::gpu_names(),
                           arguments.plan ? ", all" : ""));
}

void check_math_of_type(const ProfileArguments& arguments) {
  if (arguments.type != DType::float32 && arguments.math != Math::fp32)
    throw Error(bad_argument("--math is '", name_of(arguments.math), "', which is for --type float32"));
}

bench::OperatorRequest gemm_request(const ProfileArguments& a) {
  return {.shape = {{"m", a.m}, {"n", a.n}, {"k", a.k}, {"batch", 1}},
          .type = a.type,
          .math = a.math,
          .transpose_a = a.transpose_a,
          .transpose_b = a.transpose_b};
}

std::optional<GemmPlan> gemm_plan(const ProfileArguments& a, const simt::GpuProperties& gpu) {
  if (10 * gpu.major + gpu.minor < least_capability(a.type, a.math)) return {};
  const GemmProblem product =
      bench::packed_problem({a.m, a.n, a.k}, arithmetic_of(a.type, a.math), a.transpose_a, a.transpose_b);
  const DeviceProperties device = {gpu.multiprocessors, gpu.shared_block_kb * 1024, false, gpu.major == 9};
  return choose_gemm_plan(product, device);
}

std::string gemm_plan_text(const ProfileArguments& arguments, const simt::GpuProperties& gpu) {
  const std::optional<GemmPlan> plan = gemm_plan(arguments, gpu);
  if (!plan) {
    const int least = least_capability(arguments.type, arguments.math);
    return concat(
        "none: ", arguments.type == DType::float32 ? name_of(arguments.math) : name_of(arguments.type),
        " needs compute capability ", capability_text(least / 10, least % 10));
  }
  return concat(bench::rung_of(*plan), ", ", *plan);
}

void show_gemm_plans(const ProfileArguments& arguments, std::ostream& out) {
  check_math_of_type(arguments);
  std::vector<TextRow> rows = {{"gpu", "capability", "gemm() chooses"}};
  if (arguments.gpu == "all")
    for (const simt::GpuProperties& gpu : simt::gpus()) rows.push_back(plan_row(arguments, gpu));
  else
    rows.push_back(plan_row(arguments, gpu_of(arguments)));
  out << bench::gemm_text(gemm_request(arguments)) << "\n";
  show_table(rows, out, 3);
}

}  // namespace rondo::program
