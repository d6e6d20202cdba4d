#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/profile/compiled_kernels.h>
#include <rondo/tools/rondo/profile/draw.h>
#include <rondo/tools/rondo/profile/plan.h>
#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/profile/profile_command.h>
#include <rondo/tools/rondo/profile/workload.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <simt/settings.h>

#include <filesystem>

namespace rondo::program {
namespace {

// Launches of a training step or of an operation on large data would take minutes if every block ran.
constexpr int64_t kBlocksOfStep = 4;

// Memory that no block writes because not all of them run is 0. NaN would change the control flow: sums that
// have left the range of floats are computed a second time.
class ZeroedMemory {
 public:
  explicit ZeroedMemory(bool zeroed) { simt::set_zeroed_memory(zeroed); }
  ~ZeroedMemory() { simt::set_zeroed_memory(false); }
  ZeroedMemory(const ZeroedMemory&) = delete;
};

CompiledKernels compiled_kernels(const std::string& asked) {
  if (!asked.empty()) return CompiledKernels(asked);
  const char* const in_source_tree = RONDO_SOURCE_DIR "/bench/compiled/budget.json";
  return std::filesystem::exists(in_source_tree) ? CompiledKernels(in_source_tree) : CompiledKernels();
}

}  // namespace

double ProfiledPart::min_seconds() const {
  double seconds = 0;
  for (const ProfiledKernel& kernel : kernels) seconds += kernel.forecast.min_seconds();
  return seconds;
}

ProfileReport run_profile(const ProfileArguments& arguments) {
  if (!simt::can_observe())
    throw Error(
        bad_argument("this build cannot observe kernels: the script tools/profile, in Rondo's source folder, "
                     "builds one that can and runs it"));
  ProfileReport report;
  report.gpu = &gpu_of(arguments);
  report.warm = arguments.warm;
  if (simt::settings().gpu != arguments.gpu) RONDO_CUDA_THROW(simt::set_gpu(arguments.gpu));
  const CompiledKernels compiled = compiled_kernels(arguments.compiled);
  if (arguments.work == ProfiledWork::gemm && (arguments.variant == "gemm" || arguments.variant == "all"))
    report.plan = gemm_plan_text(arguments, *report.gpu);
  const bool step = arguments.work == ProfiledWork::train;
  const simt::ProfileOptions options = {
      .blocks = static_cast<uint64_t>(arguments.blocks.value_or(step ? kBlocksOfStep : 0)),
      .first_of_equal_launches = step};
  const ZeroedMemory zeroed(options.blocks > 0 || options.first_of_equal_launches);

  for (const Workload& work : make_workloads(arguments)) {
    report.work = work.name;
    RONDO_CUDA_THROW(simt::start_profile(options));
    try {
      work.run();
    } catch (...) {
      simt::stop_profile();  // so that the process can start another
      throw;
    }
    ProfiledPart& part = report.parts.emplace_back(ProfiledPart{work.part, work.flops, {}});
    for (simt::KernelProfile& profile : simt::stop_profile()) {
      ProfiledKernel& kernel = part.kernels.emplace_back();
      kernel.name = short_kernel_name(profile.name);
      kernel.registers =
          compiled.registers(kernel.name, exact_text(10 * report.gpu->major + report.gpu->minor));
      kernel.forecast = forecast(profile, *report.gpu, kernel.registers, {.warm = arguments.warm});
      kernel.profile = std::move(profile);
    }
  }
  return report;
}

void show_profile(const ProfileArguments& arguments, std::ostream& out, const Terminal& terminal) {
  if (arguments.plan) return show_gemm_plans(arguments, out);
  if (!arguments.draw_svg.empty() && arguments.draw.empty())
    throw Error(bad_argument("--draw-svg is '", arguments.draw_svg, "', needs --draw FILE:LINE"));
  const OutputFile json("--json", arguments.json), svg("--svg", arguments.svg),
      draw_svg("--draw-svg", arguments.draw_svg);
  for (const OutputFile* file : {&json, &svg, &draw_svg})
    file->check_is_not("the file of --compiled", arguments.compiled);
  const ProfileReport report = run_profile(arguments);
  std::vector<AccessDrawing> drawings;
  if (!arguments.draw.empty()) drawings = drawings_of_line(report, arguments.draw);
  show_profile_text(report, arguments.lines, out);
  for (const AccessDrawing& drawing : drawings) out << "\n" << drawing_text(drawing, terminal);
  if (json.wanted()) json.write(profile_json(report));
  if (svg.wanted()) svg.write(profile_svg(report));
  if (draw_svg.wanted()) draw_svg.write(drawings_svg(drawings));
}

}  // namespace rondo::program
