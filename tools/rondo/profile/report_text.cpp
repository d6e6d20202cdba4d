#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/profile/lines.h>
#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/profile/source_place.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>
#include <utility>

namespace rondo::program {
namespace {

std::string microseconds(double seconds) {
  const double us = seconds * 1e6;
  return fixed(us, us < 10 ? 2 : us < 1000 ? 1 : 0);
}

std::string ratio(double part, double whole, int digits = 1) {
  return whole > 0 ? fixed(part / whole, digits) : "-";
}

std::string megabytes(double bytes) { return fixed(bytes / 1e6, bytes < 1e7 ? 2 : 0); }

std::string grid_text(const simt::KernelProfile& profile) {
  const auto& g = profile.grid;
  std::string text = exact_text(g.x);
  if (g.y > 1 || g.z > 1) text += "x" + exact_text(g.y);
  if (g.z > 1) text += "x" + exact_text(g.z);
  return text;
}

// Cycles beyond those that the same accesses need if neighbouring lanes access neighbouring addresses.
double excess(const simt::AccessCounts& access) {
  if (access.space == simt::AccessSpace::shared)
    return static_cast<double>(access.wavefronts - access.least_wavefronts);
  return static_cast<double>(access.sectors - std::min(access.sectors, access.least_sectors)) / 4;
}

std::string advice(const simt::AccessCounts& access) {
  const double requests = static_cast<double>(access.requests);
  if (access.same_address > 0)
    return concat(
        ratio(static_cast<double>(access.same_address), requests),
        " lanes a request wait for another lane's atomic on the same address: add within the warp first");
  if (access.space == simt::AccessSpace::shared && excess(access) > 0.02 * load_store_cycles(access))
    return concat("bank conflicts: ", ratio(static_cast<double>(access.wavefronts), requests),
                  " wavefronts a request, ", ratio(static_cast<double>(access.least_wavefronts), requests),
                  " without conflicts: pad the rows, or swizzle (rondo banks)");
  if (access.space == simt::AccessSpace::global && excess(access) > 0.05 * load_store_cycles(access))
    return concat(
        "uncoalesced: ", ratio(static_cast<double>(access.sectors), requests), " sectors a request, ",
        ratio(static_cast<double>(access.least_sectors), requests),
        " would hold the bytes: let neighbouring lanes access neighbouring addresses (rondo sectors)");
  if (static_cast<double>(access.lanes) < 24 * requests)
    return concat("only ", ratio(static_cast<double>(access.lanes), requests), " of 32 lanes are active");
  return "";
}

void show_lines(const ProfiledKernel& kernel, std::ostream& out) {
  constexpr size_t kMost = 8;
  std::vector<simt::AccessCounts> accesses = accesses_by_line(kernel.profile);
  double all = 0;
  for (const simt::AccessCounts& access : accesses) all += load_store_cycles(access);
  std::stable_sort(accesses.begin(), accesses.end(),
                   [](const auto& a, const auto& b) { return load_store_cycles(a) > load_store_cycles(b); });
  if (accesses.size() > kMost) accesses.resize(kMost);

  std::vector<TextRow> table = {
      {"line", "access", "bytes", "requests", "lanes", "sectors", "wavefronts", "share"}};
  for (const simt::AccessCounts& access : accesses) {
    const bool shared = access.space == simt::AccessSpace::shared;
    const auto requests = static_cast<double>(access.requests);
    table.push_back({source_place(access), access_text(access), exact_text(access.bytes),
                     grouped(static_cast<int64_t>(access.requests)),
                     ratio(static_cast<double>(access.lanes), requests),
                     shared ? "" : ratio(static_cast<double>(access.sectors), requests),
                     shared ? ratio(static_cast<double>(access.wavefronts), requests) : "",
                     percent(load_store_cycles(access), all)});
  }
  out << "\n  " << kernel.name
      << ", lines by their share of the kernel's cycles of the load-store unit; lanes, sectors and "
         "wavefronts are per "
         "request\n";
  show_table(table, out, 2);
  for (const simt::AccessCounts& access : accesses)
    if (const std::string text = advice(access); !text.empty())
      out << "  " << source_place(access) << ": " << text << "\n";
}

std::string with_three_digits(double value) {
  if (value == 0) return "0";
  return fixed(value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4);
}

// The instructions of warps that multiply: products of tensor cores, or multiply-adds.
double product_instructions(const ProfiledKernel& kernel) {
  const KernelTotals& t = kernel.forecast.totals;
  const simt::KernelProfile& p = kernel.profile;
  const auto observed = static_cast<double>(p.tf32_multiply_adds + p.narrow_multiply_adds);
  if (observed == 0) return t.warp_multiply_adds;
  return static_cast<double>(p.tensor_products) * (t.tf32_multiply_adds + t.narrow_multiply_adds) / observed;
}

void show_counts_per_product(const std::vector<ProfiledPart>& parts, std::ostream& out) {
  std::vector<TextRow> table = {{"instructions that multiply", "number", "global requests each",
                                 "sectors per request", "wavefronts each", "without conflicts",
                                 "barriers in all"}};
  for (const ProfiledPart& part : parts) {
    KernelTotals sum;
    double products = 0;
    for (const ProfiledKernel& kernel : part.kernels) {
      const KernelTotals& t = kernel.forecast.totals;
      products += product_instructions(kernel);
      sum.global_requests += t.global_requests;
      sum.global_sectors += t.global_sectors;
      sum.shared_wavefronts += t.shared_wavefronts;
      sum.least_shared_wavefronts += t.least_shared_wavefronts;
      sum.barriers += t.barriers;
    }
    if (products == 0) continue;
    table.push_back({part.name, grouped(static_cast<int64_t>(products)),
                     with_three_digits(sum.global_requests / products),
                     ratio(sum.global_sectors, sum.global_requests),
                     with_three_digits(sum.shared_wavefronts / products),
                     with_three_digits(sum.least_shared_wavefronts / products),
                     grouped(static_cast<int64_t>(sum.barriers))});
  }
  if (table.size() == 1) return;
  out << "\n";
  show_table(table, out, 1);
}

}  // namespace

void show_profile_text(const ProfileReport& report, bool lines, std::ostream& out) {
  const simt::GpuProperties& gpu = *report.gpu;
  out << report.work << "\n";
  if (!report.plan.empty()) out << "gemm() chooses " << report.plan << "\n";
  out << "forecast for " << gpu.title << ": lower bounds from counts and published peaks"
      << (report.warm ? ", with data in the L2 cache where it fits" : "") << "; nothing here is measured\n";
  std::vector<TextRow> table = {{"part", "kernel", "launches", "blocks", "threads", "warps/SM", "waves",
                                 "lanes", "sectors", "wavefronts", "FMA/instr", "MB", "bound", "least us",
                                 "share"}};
  for (const ProfiledPart& part : report.parts) {
    bool first = true;
    for (const ProfiledKernel& kernel : part.kernels) {
      const KernelForecast& f = kernel.forecast;
      const KernelTotals& t = f.totals;
      table.push_back(
          {first ? part.name : "", kernel.name, exact_text(kernel.profile.launches),
           grid_text(kernel.profile),
           exact_text(kernel.profile.block.x * kernel.profile.block.y * kernel.profile.block.z),
           concat(f.occupancy.warps, kernel.registers ? "" : "?"), fixed(f.waves, f.waves < 10 ? 2 : 0),
           ratio(t.lanes, t.requests), ratio(t.global_sectors, t.global_requests),
           ratio(t.shared_wavefronts, t.shared_requests), ratio(t.warp_multiply_adds, t.instructions, 2),
           megabytes(t.launch_bytes), name_of(f.bound), microseconds(f.min_seconds()),
           percent(f.min_seconds(), part.min_seconds())});
      first = false;
    }
  }
  show_table(table, out, 2);
  out << "lanes: active lanes; sectors, wavefronts: per request of a warp; MB: distinct bytes of global "
         "memory;\n"
         "FMA/instr: multiply-adds among the counted instructions; warps/SM with ?: registers are not "
         "known\n";

  std::vector<TextRow> resources = {{"least us by resource"}};
  for (const Resource resource : kResources) resources[0].push_back(name_of(resource));
  resources[0].push_back("sum of bounds");
  resources[0].push_back("TFLOP/s at most");
  for (const ProfiledPart& part : report.parts) {
    TextRow row = {part.name.empty() ? report.work : part.name};
    for (size_t r = 0; r < kResources.size(); ++r) {
      double seconds = 0;
      for (const ProfiledKernel& kernel : part.kernels) seconds += kernel.forecast.seconds[r];
      row.push_back(microseconds(seconds));
    }
    row.push_back(microseconds(part.min_seconds()));
    row.push_back(part.flops > 0 ? ratio(part.flops / 1e12, part.min_seconds(), 2) : "-");
    resources.push_back(row);
  }
  out << "\n";
  show_table(resources, out, 1);
  show_counts_per_product(report.parts, out);
  if (lines)
    for (const ProfiledPart& part : report.parts)
      for (const ProfiledKernel& kernel : part.kernels) show_lines(kernel, out);
}

}  // namespace rondo::program
