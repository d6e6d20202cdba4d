#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/c_locale.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/cuda/counts.h>
#include <rondo/tools/rondo/profile/lines.h>
#include <rondo/tools/rondo/profile/source_place.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>
#include <simt/observe.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rondo::program {
namespace {

// A path below the current folder, without it.
std::string from_here(const std::string& path) {
  const std::string here = std::filesystem::current_path().string() + "/";
  return path.rfind(here, 0) == 0 ? path.substr(here.size()) : path;
}

simt::AccessCounts access_of(const nlohmann::json& json) {
  simt::AccessCounts access;
  access.kind = static_cast<simt::AccessKind>(json.at("kind").get<int>());
  access.space = static_cast<simt::AccessSpace>(json.at("space").get<int>());
  access.bytes = json.at("bytes");
  for (const nlohmann::json& line : json.at("inlined"))
    access.inlined.push_back({from_here(line.at("file")), line.at("line"), line.at("function")});
  access.requests = json.at("requests");
  access.lanes = json.at("lanes");
  access.sectors = json.at("sectors");
  access.least_sectors = json.at("least_sectors");
  access.wavefronts = json.at("wavefronts");
  access.least_wavefronts = json.at("least_wavefronts");
  access.same_address = json.at("same_address");
  return access;
}

dim3 shape_of(const nlohmann::json& json) { return {json.at(0), json.at(1), json.at(2)}; }

simt::KernelProfile profile_of(const nlohmann::json& json) {
  simt::KernelProfile profile;
  profile.name = json.at("name");
  profile.grid = shape_of(json.at("grid"));
  profile.block = shape_of(json.at("block"));
  profile.launches = json.at("launches");
  profile.barriers = json.at("barriers");
  profile.warp_operations = json.at("warp_operations");
  profile.launch_bytes_read = json.at("launch_bytes_read");
  profile.launch_bytes_written = json.at("launch_bytes_written");
  for (const nlohmann::json& access : json.at("accesses")) profile.accesses.push_back(access_of(access));
  return profile;
}

std::string shape_text(const dim3& shape) {
  std::string text = exact_text(shape.x);
  if (shape.y > 1 || shape.z > 1) text += "x" + exact_text(shape.y);
  if (shape.z > 1) text += "x" + exact_text(shape.z);
  return text;
}

// Cycles of the load-store unit: one for each wavefront of shared memory, or for 4 sectors of global memory.
double cycles(const simt::AccessCounts& access) {
  if (access.space == simt::AccessSpace::shared) return static_cast<double>(access.wavefronts);
  return std::max(static_cast<double>(access.requests), static_cast<double>(access.sectors) / 4);
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
                   [](const auto& a, const auto& b) { return cycles(a) > cycles(b); });
  double all = 0;
  for (const simt::AccessCounts& access : accesses) all += cycles(access);
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
                     all > 0 ? fixed(100 * cycles(access) / all, 1) + " %" : ""});
  }
  show_table(table, out, 2);
  out << "\n";
}

}  // namespace

void show_counts(const std::filesystem::path& file, std::ostream& out) {
  constexpr int64_t kMostBytes = int64_t{1} << 31;
  const std::string text = RegularFile(file.string()).contents<std::string>(kMostBytes);
  const CLocale of_the_parser;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array())
    throw Error(
        Status(StatusCode::out_of_resources, concat("the counts in '", file.string(), "' are not complete")));
  out << "\nlanes, sectors and wavefronts are per request of a warp; share: of the kernel's cycles of the "
         "load-store unit\n\n";
  for (const nlohmann::json& kernel : json) show_kernel(profile_of(kernel), out);
}

}  // namespace rondo::program
