#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/cuda/counts.h>
#include <rondo/tools/rondo/cuda/program_profile.h>
#include <rondo/tools/rondo/profile/lines.h>
#include <rondo/tools/rondo/profile/source_place.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>
#include <map>
#include <utility>

namespace rondo::program {
namespace {

std::string shape_text(const dim3& shape) {
  std::string text = exact_text(shape.x);
  if (shape.y > 1 || shape.z > 1) text += "x" + exact_text(shape.y);
  if (shape.z > 1) text += "x" + exact_text(shape.z);
  return text;
}

std::string each(uint64_t total, uint64_t requests) {
  return requests == 0 ? "-" : fixed(static_cast<double>(total) / static_cast<double>(requests), 1);
}

void show_kernel(const simt::KernelProfile& profile, std::ostream& out) {
  out << profile.name << " <<<" << shape_text(profile.grid) << ", " << shape_text(profile.block)
      << ">>>: " << counted(profile.launches, "launch", "launches") << ", "
      << grouped(static_cast<int64_t>(profile.barriers)) << " barriers of blocks, "
      << grouped(static_cast<int64_t>(profile.warp_operations)) << " operations of warps, "
      << grouped(static_cast<int64_t>(profile.launch_bytes_read)) << " bytes read and "
      << grouped(static_cast<int64_t>(profile.launch_bytes_written)) << " written\n";
  std::vector<simt::AccessCounts> accesses = accesses_by_line(profile);
  std::stable_sort(accesses.begin(), accesses.end(),
                   [](const auto& a, const auto& b) { return load_store_cycles(a) > load_store_cycles(b); });
  double all = 0;
  for (const simt::AccessCounts& access : accesses) all += load_store_cycles(access);
  std::vector<TextRow> table = {
      {"line", "access", "bytes", "requests", "lanes", "sectors", "least", "wavefronts", "least", "share"}};
  for (const simt::AccessCounts& access : accesses) {
    const bool shared = access.space == simt::AccessSpace::shared;
    const auto of_request = [&](uint64_t total, bool shown) {
      return shown ? each(total, access.requests) : "";
    };
    table.push_back({source_place(access), access_text(access), exact_text(access.bytes),
                     grouped(static_cast<int64_t>(access.requests)), each(access.lanes, access.requests),
                     of_request(access.sectors, !shared), of_request(access.least_sectors, !shared),
                     of_request(access.wavefronts, shared), of_request(access.least_wavefronts, shared),
                     all > 0 ? fixed(100 * load_store_cycles(access) / all, 1) + " %" : ""});
  }
  show_table(table, out, 2);
  out << "\n";
}

std::string memory_text(int device) {
  return device == simt::kHostMemory ? "the host" : concat("device ", device);
}

void show_copies(const simt::ProgramProfile& profile, std::ostream& out) {
  struct Sum {
    int64_t copies = 0, bytes = 0;
  };
  std::map<std::pair<int, int>, Sum> sums;
  for (const simt::CountedOperation& operation : profile.operations) {
    if (!operation.is_copy()) continue;
    Sum& sum = sums[{operation.from, operation.to}];
    ++sum.copies;
    sum.bytes += static_cast<int64_t>(operation.bytes);
  }
  for (const auto& [link, sum] : sums)
    out << counted(sum.copies, "copy", "copies") << " from " << memory_text(link.first) << " to "
        << memory_text(link.second) << ": " << grouped(sum.bytes) << " bytes\n";
  if (profile.uncounted_operations > 0)
    out << "copies after the first " << profile.operations.size() << " operations were not counted\n";
}

}  // namespace

void show_counts(const std::filesystem::path& file, std::ostream& out) {
  constexpr int64_t kMostBytes = int64_t{1} << 31;
  const std::string text = RegularFile(file.string()).contents<std::string>(kMostBytes);
  const std::optional<simt::ProgramProfile> profile = read_program_profile(text);
  if (!profile)
    throw Error(
        Status(StatusCode::out_of_resources, concat("the counts in '", file.string(), "' are not complete")));
  out << "\nlanes, sectors and wavefronts are per request of a warp; share: of the kernel's cycles of the "
         "load-store unit\n\n";
  for (const simt::KernelProfile& kernel : profile->kernels) show_kernel(kernel, out);
  show_copies(*profile, out);
}

}  // namespace rondo::program
