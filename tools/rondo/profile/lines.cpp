#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/lines.h>
#include <rondo/tools/rondo/profile/source_place.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace rondo::program {

std::vector<simt::AccessCounts> accesses_by_line(const simt::KernelProfile& profile) {
  std::map<std::tuple<std::string, simt::AccessSpace, simt::AccessKind, int>, simt::AccessCounts> lines;
  for (const simt::AccessCounts& access : profile.accesses) {
    const auto [line, fresh] =
        lines.try_emplace({source_place(access), access.space, access.kind, access.bytes}, access);
    if (fresh) continue;
    simt::AccessCounts& sum = line->second;
    sum += access;
    if (worst_excess(access) > worst_excess(sum)) sum.worst = access.worst;
  }
  std::vector<simt::AccessCounts> accesses;
  for (auto& [place, access] : lines) accesses.push_back(std::move(access));
  return accesses;
}

std::string access_text(const simt::AccessCounts& access) {
  constexpr const char* kKinds[] = {"load", "store", "atomic", "cp.async load", "cp.async store"};
  return concat(access.space == simt::AccessSpace::shared ? "shared " : "global ",
                kKinds[static_cast<size_t>(access.kind)]);
}

bool stores(const simt::AccessCounts& access) {
  return access.kind == simt::AccessKind::store || access.kind == simt::AccessKind::async_copy_store;
}

int worst_excess(const simt::AccessCounts& access) {
  if (access.space == simt::AccessSpace::global)
    return simt::global_sectors(access.worst) - simt::least_global_sectors(access.worst);
  return (stores(access) ? simt::shared_store(access.worst) : simt::shared_load(access.worst)).conflicts();
}

double load_store_cycles(const simt::AccessCounts& access) {
  if (access.space == simt::AccessSpace::shared) return static_cast<double>(access.wavefronts);
  return std::max(static_cast<double>(access.requests), static_cast<double>(access.sectors) / 4);
}

}  // namespace rondo::program
