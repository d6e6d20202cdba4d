#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/profile/roofline_svg.h>
#include <rondo/tools/rondo/support/format.h>

namespace rondo::program {
namespace {

// Without template arguments, which are longer than the legend is wide.
std::string point_name(const ProfiledKernel& kernel) {
  const simt::KernelProfile& p = kernel.profile;
  const uint64_t blocks = uint64_t{p.grid.x} * p.grid.y * p.grid.z;
  std::string name = kernel.name.substr(0, kernel.name.find('<'));
  name = name.substr(name.rfind(':') + 1);  // npos + 1 is 0
  return concat(name, ", ", blocks, blocks == 1 ? " block" : " blocks");
}

}  // namespace

// A point's rate is that of the forecast: the counted FLOPs over the lower bound of the time.
std::string profile_svg(const ProfileReport& report) {
  const simt::GpuProperties& gpu = *report.gpu;
  Roofline roofline;
  roofline.title = report.work;
  roofline.subtitle = concat("forecast for ", gpu.title, " from counts; not measured");
  const auto add_peak = [&](const char* name, double tflops) {
    if (tflops > 0)
      roofline.peaks.push_back({concat(name, " ", fixed(tflops, 1), " TFLOP/s"), tflops * 1e12});
  };
  add_peak("fp32 FMA", gpu.fp32_tflops());
  add_peak("tf32 tensor cores", gpu.tf32_tflops);
  add_peak("fp16 and bf16 tensor cores", gpu.fp16_tflops);
  const auto add_ceiling = [&](const char* name, double gb_s) {
    roofline.ceilings.push_back({concat(name, " ", fixed(gb_s / 1e3, 2), " TB/s"), gb_s * 1e9});
  };
  add_ceiling("memory", gpu.dram_gb_s);
  add_ceiling("data in L2", gpu.l2_gb_s);
  for (const ProfiledPart& part : report.parts)
    for (const ProfiledKernel& kernel : part.kernels) {
      const KernelTotals& totals = kernel.forecast.totals;
      const double multiply_adds =
          totals.multiply_adds + totals.tf32_multiply_adds + totals.narrow_multiply_adds;
      if (multiply_adds == 0 || totals.launch_bytes == 0 || kernel.forecast.min_seconds() == 0) continue;
      const double flops = 2 * multiply_adds;
      roofline.points.push_back(
          {point_name(kernel), flops / totals.launch_bytes, flops / kernel.forecast.min_seconds()});
    }
  return roofline_svg(roofline);
}

}  // namespace rondo::program
