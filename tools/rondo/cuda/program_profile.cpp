#include <rondo/nn/io/c_locale.h>
#include <rondo/tools/rondo/cuda/program_profile.h>

#include <filesystem>
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

// Of a program whose blocks all ran and were observed.
simt::KernelProfile profile_of(const nlohmann::json& json) {
  simt::KernelProfile profile;
  profile.name = json.at("name");
  profile.grid = shape_of(json.at("grid"));
  profile.block = shape_of(json.at("block"));
  profile.shared_bytes = json.at("shared_bytes");
  profile.launches = profile.observed_launches = json.at("launches");
  profile.blocks = profile.observed_blocks = json.at("blocks");
  profile.tf32_multiply_adds = json.at("tf32_multiply_adds");
  profile.narrow_multiply_adds = json.at("narrow_multiply_adds");
  profile.barriers = json.at("barriers");
  profile.warp_operations = json.at("warp_operations");
  profile.instructions = json.at("instructions");
  profile.waited = json.at("waited");
  profile.block_bytes = json.at("block_bytes");
  profile.launch_bytes_read = json.at("launch_bytes_read");
  profile.launch_bytes_written = json.at("launch_bytes_written");
  for (const nlohmann::json& access : json.at("accesses")) profile.accesses.push_back(access_of(access));
  return profile;
}

simt::CountedOperation operation_of(const nlohmann::json& json) {
  simt::CountedOperation operation;
  if (json.contains("kernel")) {
    operation.kernel = json.at("kernel").get<size_t>();
    operation.device = json.at("device");
    const auto link = [&](const char* read, const char* written) {
      return simt::LinkBytes{json.value(read, uint64_t{0}), json.value(written, uint64_t{0})};
    };
    operation.host_link = link("host_bytes_read", "host_bytes_written");
    operation.peer_link = link("peer_bytes_read", "peer_bytes_written");
  } else {
    operation.from = json.at("from");
    operation.to = json.at("to");
    operation.bytes = json.at("bytes");
  }
  operation.after = json.at("after").get<std::vector<size_t>>();
  return operation;
}

bool places_exist(const simt::ProgramProfile& profile) {
  for (size_t i = 0; i < profile.operations.size(); ++i) {
    const simt::CountedOperation& operation = profile.operations[i];
    if (operation.kernel && *operation.kernel >= profile.kernels.size()) return false;
    for (const size_t other : operation.after)
      if (other >= i) return false;
  }
  return true;
}

}  // namespace

std::optional<simt::ProgramProfile> read_program_profile(const std::string& text) {
  const CLocale of_the_parser;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    simt::ProgramProfile profile;
    for (const nlohmann::json& kernel : json.at("kernels")) profile.kernels.push_back(profile_of(kernel));
    for (const nlohmann::json& operation : json.at("operations"))
      profile.operations.push_back(operation_of(operation));
    profile.uncounted_operations = json.at("uncounted_operations");
    if (places_exist(profile)) return profile;
  } catch (const nlohmann::json::exception&) {
  }
  return std::nullopt;
}

}  // namespace rondo::program
