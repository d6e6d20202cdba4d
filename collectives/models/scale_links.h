// Links by name, with what others have published about them. None of these figures was measured by Rondo; use
// them to compare shapes, and your own fit (alpha_beta.h) for your own cluster.
#pragma once

#include <rondo/collectives/models/scale_model.h>

#include <optional>
#include <string_view>

namespace rondo {

struct NamedLink {
  const char* name;
  ScaleLink link;
  const char* source;
};

// The latencies are those of one ring step in the cost model of NCCL 2.30 (src/graph/tuning.cc, protocol Simple);
// the bandwidths of NVLink and PCIe are its src/graph/topo.h.
inline constexpr NamedLink kScaleLinks[] = {
    {"nvlink", {3.4e-6, 370.8e9}, "NVLink 4, 18 links of 20.6 GB/s; NCCL's tuning.cc and topo.h"},
    {"pcie", {5.7e-6, 12e9}, "PCIe 3.0 x16; NCCL's tuning.cc and topo.h"},
    {"network", {14e-6, 48e9}, "a 400 Gb/s adapter as in nccl-tests issue 290; NCCL's tuning.cc"},
};

constexpr std::optional<NamedLink> find_link(std::string_view name) {
  for (const NamedLink& link : kScaleLinks)
    if (name == link.name) return link;
  return std::nullopt;
}

}  // namespace rondo
