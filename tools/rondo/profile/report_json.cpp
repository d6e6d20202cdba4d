#include <rondo/tools/rondo/profile/profile.h>
#include <rondo/tools/rondo/profile/source_place.h>

#include <nlohmann/json.hpp>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

const char* key_of(simt::AccessKind kind) {
  constexpr const char* kNames[] = {"load", "store", "atomic", "cp_async_load", "cp_async_store"};
  return kNames[static_cast<size_t>(kind)];
}

Json access_json(const simt::AccessCounts& access) {
  Json json = {{"line", source_place(access)},
               {"kind", key_of(access.kind)},
               {"space", access.space == simt::AccessSpace::shared ? "shared" : "global"},
               {"bytes_per_lane", access.bytes},
               {"requests", access.requests},
               {"lanes", access.lanes}};
  if (access.space == simt::AccessSpace::global) {
    json["sectors"] = access.sectors;
    json["least_sectors"] = access.least_sectors;
  } else {
    json["wavefronts"] = access.wavefronts;
    json["least_wavefronts"] = access.least_wavefronts;
  }
  if (access.kind == simt::AccessKind::atomic) json["same_address"] = access.same_address;
  Json inlined = Json::array();
  for (const simt::SourceLine& line : access.inlined)
    inlined.push_back({{"file", line.file}, {"line", line.line}, {"function", line.function}});
  json["inlined"] = inlined;
  return json;
}

Json kernel_json(const ProfiledKernel& kernel) {
  const simt::KernelProfile& p = kernel.profile;
  const KernelForecast& f = kernel.forecast;
  Json seconds;
  for (const Resource resource : kResources)
    seconds[name_of(resource)] = f.seconds[static_cast<size_t>(resource)];
  Json accesses = Json::array();
  for (const simt::AccessCounts& access : p.accesses) accesses.push_back(access_json(access));
  return {{"kernel", kernel.name},
          {"symbol", p.name},
          {"grid", {p.grid.x, p.grid.y, p.grid.z}},
          {"block", {p.block.x, p.block.y, p.block.z}},
          {"shared_bytes", p.shared_bytes},
          {"registers", kernel.registers ? Json(*kernel.registers) : Json()},
          {"launches", p.launches},
          {"observed_launches", p.observed_launches},
          {"blocks", p.blocks},
          {"observed_blocks", p.observed_blocks},
          {"counts",
           {{"multiply_adds", p.multiply_adds},
            {"warp_multiply_adds", p.warp_multiply_adds},
            {"tf32_multiply_adds", p.tf32_multiply_adds},
            {"narrow_multiply_adds", p.narrow_multiply_adds},
            {"tensor_products", p.tensor_products},
            {"barriers", p.barriers},
            {"warp_operations", p.warp_operations},
            {"instructions", p.instructions},
            {"waited", p.waited},
            {"block_bytes", p.block_bytes},
            {"launch_bytes_read", p.launch_bytes_read},
            {"launch_bytes_written", p.launch_bytes_written},
            {"allocated_bytes", p.allocated_bytes}}},
          {"accesses", accesses},
          {"forecast",
           {{"blocks_per_multiprocessor", f.occupancy.blocks},
            {"warps_per_multiprocessor", f.occupancy.warps},
            {"occupancy_limit", f.occupancy.limit},
            {"waves", f.waves},
            {"tail_idle_fraction", f.tail_idle_fraction},
            {"seconds", seconds},
            {"bound", name_of(f.bound)},
            {"min_seconds", f.min_seconds()}}}};
}

}  // namespace

std::string profile_json(const ProfileReport& report) {
  Json parts = Json::array();
  for (const ProfiledPart& part : report.parts) {
    Json kernels = Json::array();
    for (const ProfiledKernel& kernel : part.kernels) kernels.push_back(kernel_json(kernel));
    parts.push_back({{"part", part.name},
                     {"flops", part.flops},
                     {"min_seconds", part.min_seconds()},
                     {"kernels", kernels}});
  }
  Json json = {{"work", report.work},
               {"gpu", report.gpu->name},
               {"warm", report.warm},
               {"measured", false},
               {"parts", parts}};
  if (!report.plan.empty()) json["plan"] = report.plan;
  return json.dump(1) + "\n";
}

}  // namespace rondo::program
