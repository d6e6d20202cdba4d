#include "special_registers.h"

namespace ptx {
namespace {

struct Row {
  std::string_view name;
  Special special;
};

constexpr Row kWithDimension[] = {
    {"%tid.", Special::tid},
    {"%ntid.", Special::ntid},
    {"%ctaid.", Special::ctaid},
    {"%nctaid.", Special::nctaid},
    {"%clusterid.", Special::clusterid},
    {"%nclusterid.", Special::nclusterid},
    {"%cluster_ctaid.", Special::cluster_ctaid},
    {"%cluster_nctaid.", Special::cluster_nctaid},
};

constexpr Row kOthers[] = {
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%aggr_smem_size", Special::total_smem_size},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%envreg1", Special::workspace_high},
    {"%envreg2", Special::workspace_low},
};

uint32_t thread_coordinate(const Shape& shape, uint32_t thread, int dimension) {
  const uint32_t x = shape.block[0], y = shape.block[1];
  return dimension == 0 ? thread % x : dimension == 1 ? thread / x % y : thread / x / y;
}

uint32_t rank_coordinate(const Shape& shape, uint32_t rank, int dimension) {
  const uint32_t x = shape.cluster[0], y = shape.cluster[1];
  return dimension == 0 ? rank % x : dimension == 1 ? rank / x % y : rank / x / y;
}

}  // namespace

bool special_register(std::string_view name, SpecialRegister* special) {
  for (const Row& row : kWithDimension) {
    if (!name.starts_with(row.name) || name.size() != row.name.size() + 1) continue;
    const int dimension = name.back() - 'x';
    if (dimension < 0 || dimension > 2) return false;
    *special = {0, row.special, dimension};
    return true;
  }
  for (const Row& row : kOthers) {
    if (name != row.name) continue;
    *special = {0, row.special, 0};
    return true;
  }
  if (name.starts_with("%reserved_smem_")) {
    *special = {0, Special::reserved_smem, 0};
    return true;
  }
  if (name.starts_with("%envreg")) {
    *special = {0, Special::zero, 0};
    return true;
  }
  return false;
}

uint32_t special_value(const SpecialRegister& special, const Warp& warp, uint32_t lane) {
  const Block& block = *warp.block;
  const LaunchState& launch = *block.launch;
  const Shape& shape = launch.shape;
  const int d = special.dimension;
  switch (special.special) {
    case Special::tid:
      return thread_coordinate(shape, static_cast<uint32_t>(warp.index) * kWarpSize + lane, d);
    case Special::ntid:
      return shape.block[d];
    case Special::ctaid:
      return block.id[d];
    case Special::nctaid:
      return shape.grid[d];
    case Special::laneid:
      return lane;
    case Special::warpid:
      return static_cast<uint32_t>(warp.index);
    case Special::nwarpid:
      return static_cast<uint32_t>(block.warps.size());
    case Special::smid:
      return static_cast<uint32_t>(block.cluster->number % launch.launch.multiprocessors);
    case Special::nsmid:
      return launch.launch.multiprocessors;
    case Special::gridid:
      return launch.launch.sequence;
    case Special::lanemask_lt:
      return (1u << lane) - 1;
    case Special::lanemask_le:
      return (2u << lane) - 1;
    case Special::lanemask_gt:
      return ~((2u << lane) - 1);
    case Special::lanemask_ge:
      return ~((1u << lane) - 1);
    case Special::lanemask_eq:
      return 1u << lane;
    case Special::dynamic_smem_size:
      return shape.dynamic_shared;
    case Special::total_smem_size:
      return static_cast<uint32_t>(block.shared.size()) - kSharedBase;
    case Special::clusterid:
      return block.id[d] / shape.cluster[d];
    case Special::nclusterid:
      return shape.grid[d] / shape.cluster[d];
    case Special::cluster_ctaid:
      return rank_coordinate(shape, block.rank, d);
    case Special::cluster_nctaid:
      return shape.cluster[d];
    case Special::cluster_ctarank:
      return block.rank;
    case Special::cluster_nctarank:
      return static_cast<uint32_t>(block.cluster->blocks.size());
    case Special::is_explicit_cluster:
      return block.cluster->blocks.size() > 1;
    case Special::workspace_low:
      return static_cast<uint32_t>(launch.workspace);
    case Special::workspace_high:
      return static_cast<uint32_t>(launch.workspace >> 32);
    default:
      return 0;
  }
}

}  // namespace ptx
