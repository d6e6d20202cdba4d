#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/pictures/roofline_svg.h>
#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/support/format.h>

namespace rondo::program {

// A point's rate is that of the forecast: the counted FLOPs over the least time.
std::string profile_svg(const ProfileReport& report) {
  const simt::GpuFacts& gpu = *report.gpu;
  Roofline roofline;
  roofline.title = report.work;
  roofline.subtitle = concat("forecast for ", gpu.title, " from counts; not measured");
  roofline.peak = gpu.fp32_tflops() * 1e12;
  roofline.peak_name = concat("fp32 FMA ", fixed(roofline.peak / 1e12, 1), " TFLOP/s");
  roofline.ceilings = {{concat("memory ", fixed(gpu.dram_gb_s / 1e3, 2), " TB/s"), gpu.dram_gb_s * 1e9}};
  for (const ProfiledPart& part : report.parts)
    for (const ProfiledKernel& kernel : part.kernels) {
      const KernelTotals& totals = kernel.forecast.totals;
      const double multiply_adds =
          totals.multiply_adds + totals.tf32_multiply_adds + totals.narrow_multiply_adds;
      if (multiply_adds == 0 || totals.launch_bytes == 0 || kernel.forecast.least() == 0) continue;
      const double flops = 2 * multiply_adds;
      roofline.points.push_back({kernel.name, flops / totals.launch_bytes, flops / kernel.forecast.least()});
    }
  return roofline_svg(roofline);
}

}  // namespace rondo::program
