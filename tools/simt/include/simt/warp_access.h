#pragma once
#include <array>
#include <cstdint>
namespace simt {
struct WarpAccess { uint32_t active = 0; int bytes = 0; std::array<uint64_t, 32> address = {}; };
int global_sectors(const WarpAccess&);
int least_global_sectors(const WarpAccess&);
struct SharedCost { int wavefronts; int least; };
SharedCost shared_load(const WarpAccess&);
SharedCost shared_store(const WarpAccess&);
}
