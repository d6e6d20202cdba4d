// Named links with published figures. Rondo measured none of them. Use them to compare algorithms; fit your
// own cluster with alpha_beta.h.
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

// Latencies: one ring step in the cost model of NCCL 2.30 (src/graph/tuning.cc, protocol Simple). Bandwidths
// of NVLink and PCIe: its src/graph/topo.h.
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
