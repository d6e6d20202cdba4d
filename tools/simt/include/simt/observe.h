// Observing kernels: what each kernel does to memory, counted by source line.
//
// A build with RONDO_OBSERVE (the preset observe) compiles kernels so that every load, store and atomic of
// every CUDA thread calls the executor. While a profile is running, the executor groups the accesses of a
// warp as a GPU does: the same instruction, executed for the same time since the warp's last convergence (a
// barrier or a warp operation of all its threads). Each group is one *request*. The counts of a request are
// those of simt/warp_access.h.
//
// The counts are exact for the instructions that g++ emits. A GPU's compiler may merge or move accesses that
// g++ does not, and vice versa. Caches are not simulated.
#pragma once

#include <driver_types.h>
#include <simt/warp_access.h>

#include <cstdint>
#include <string>
#include <vector>

namespace simt {

// Whether this build can observe kernels.
bool can_observe();

enum class AccessKind : uint8_t {
  load,
  store,
  atomic,
  async_copy_load,  // cp.async and, in a profile, bulk copies
  async_copy_store,
  bulk_copy_load,  // only of the race detector (simt/check.h)
  bulk_copy_store,
  product_load,   // of an operand of wgmma
  product_update  // of accumulators of wgmma
};
enum class AccessSpace : uint8_t { global, shared, registers };  // registers: only of the race detector

// A place in the source.
struct SourceLine {
  std::string file;  // as the compiler was given it
  int line = 0;
  std::string function;
};

// The accesses of one instruction of a kernel, summed over its launches.
struct AccessCounts {
  AccessKind kind = AccessKind::load;
  AccessSpace space = AccessSpace::global;
  int bytes = 0;                    // per lane
  std::vector<SourceLine> inlined;  // the place of the access, then the places that it was inlined into

  uint64_t requests = 0;  // of warps
  uint64_t lanes = 0;     // active lanes, summed over the requests
  uint64_t sectors = 0;   // global: 32-byte sectors
  uint64_t least_sectors = 0;
  uint64_t wavefronts = 0;  // shared
  uint64_t least_wavefronts = 0;
  uint64_t same_address =
      0;             // atomics: lanes that wait for another lane of the request with the same address
  WarpAccess worst;  // the first request with the most sectors or wavefronts over the least

  uint64_t bytes_requested() const { return lanes * static_cast<uint64_t>(bytes); }

  // Adds the counts of another access. What describes the access, `worst` included, stays.
  AccessCounts& operator+=(const AccessCounts& other) {
    requests += other.requests;
    lanes += other.lanes;
    sectors += other.sectors;
    least_sectors += other.least_sectors;
    wavefronts += other.wavefronts;
    least_wavefronts += other.least_wavefronts;
    same_address += other.same_address;
    return *this;
  }
};

// All launches of one kernel with the same shape. With a limit on the blocks (ProfileOptions), the counts are
// those of the observed blocks; scale() is the factor to all blocks.
struct KernelProfile {
  std::string name;
  dim3 grid, block;
  size_t shared_bytes = 0;
  uint64_t launches = 0;
  uint64_t observed_launches = 0;
  uint64_t blocks = 0;  // of the observed launches
  uint64_t observed_blocks = 0;

  std::vector<AccessCounts> accesses;
  uint64_t multiply_adds = 0;       // of threads
  uint64_t warp_multiply_adds = 0;  // instructions of warps
  // By tensor cores: multiply-adds of tf32 and of 16-bit factors, and instructions of warps (mma.sync).
  uint64_t tf32_multiply_adds = 0;
  uint64_t narrow_multiply_adds = 0;
  uint64_t tensor_products = 0;
  uint64_t barriers = 0;         // of blocks
  uint64_t warp_operations = 0;  // shuffles, votes, __syncwarp: of warps
  // Accesses, multiply-adds and tensor products of warps, as instructions; and the instructions that warps
  // were ahead of the slowest warp of their block when they reached a barrier or the end.
  uint64_t instructions = 0;
  uint64_t waited = 0;

  // Distinct 32-byte sectors of global memory, in bytes. In a block, summed over the blocks: what a cache
  // that keeps everything a block touched would move. In a launch, summed over the launches: what a cache
  // that keeps everything would move.
  uint64_t block_bytes = 0;
  uint64_t launch_bytes_read = 0;
  uint64_t launch_bytes_written = 0;
  uint64_t allocated_bytes =
      0;  // the sizes of the allocations that a launch touched, summed over the launches

  double scale() const {
    return observed_blocks == 0 ? 0 : static_cast<double>(blocks) / static_cast<double>(observed_blocks);
  }
};

struct ProfileOptions {
  // The maximum of blocks per launch that run and are observed; 0: all. Blocks from all parts of the grid are
  // chosen, the same ones each time. Other blocks do not run, so the results of the kernel are wrong.
  uint64_t blocks = 0;
  // Whether a launch with the kernel, shape and arguments of an earlier one (except the memory that it points
  // to) is only counted. It does not run either.
  bool first_of_equal_launches = false;
};

// Starts to count from zero, in all launches that begin afterwards. Returns cudaErrorNotSupported if the
// build cannot observe, and cudaErrorInvalidValue if a profile is running already.
cudaError_t start_profile(const ProfileOptions& options = {});

// Waits for all devices, stops, and returns the profiles in the order of their first launches.
std::vector<KernelProfile> stop_profile();

}  // namespace simt
