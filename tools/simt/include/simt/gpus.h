// GpuProperties: what is published about each GPU that this project names. The one table of GPUs: SIMT_GPU,
// the forecasts and the occupancy are computed from it. tools/simt/src/host/gpus.cpp names the source of each
// figure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

// KB is 1024 bytes and MB 1024 KB; GB/s is 1e9 bytes per second. Figures of a multiprocessor are of one of
// them.
struct GpuProperties {
  const char* name;   // "h100", as in SIMT_GPU
  const char* title;  // the vendor's spelling, with its article: "an H100"
  const char* part;   // the product whose figures these are: "H100 SXM5 80 GB"

  int major, minor;  // compute capability
  int multiprocessors;
  double boost_ghz;  // the highest clock; a GPU under load is often slower

  // A multiprocessor.
  int schedulers;          // of warps; each issues one instruction per cycle
  int fp32_lanes;          // fp32 multiply-adds per cycle
  int shared_wavefronts;   // wavefronts of shared memory per cycle (warp_access.h)
  int warps, blocks;       // resident at once
  int registers;           // 32-bit; also the most that a block can have
  int register_unit;       // a warp's registers are allocated in multiples of this
  int shared_kb;           // shared memory
  int shared_block_kb;     // the most that a block can have, by opting in
  int shared_reserved_kb;  // of each block, taken by the system
  int shared_unit;         // a block's shared memory is allocated in multiples of this many bytes

  // Memory, and peaks of the whole GPU.
  double dram_gb_s;
  double l2_mb;
  double l2_gb_s;        // reads that hit the L2 cache; an estimate, except for the A100
  double fp16_tflops;    // tensor cores, dense, fp16 or bf16 with fp32 sums
  double tf32_tflops;    // tensor cores, dense; 0: none
  double graph_node_us;  // a kernel node of a graph, from its predecessor's end to its start; an estimate

  constexpr int threads() const { return 32 * warps; }  // resident on a multiprocessor
  constexpr double fp32_tflops() const { return 2e-3 * multiprocessors * fp32_lanes * boost_ghz; }
};

inline constexpr int kMostThreadsPerBlock = 1024;  // on every GPU

std::span<const GpuProperties> gpus();
const GpuProperties* gpu_named(std::string_view name);  // null for an unknown name
std::string gpu_names();                                // "t4, a100, ..."
// The GPUs of a list such as "h100,t4"; none for "". No value if a name is unknown or missing.
std::optional<std::vector<const GpuProperties*>> gpus_named(std::string_view list);

// The blocks of a kernel that are resident on a multiprocessor, by the rules of NVIDIA's occupancy calculator
// (cuda_occupancy.h). `limit` names the resource that prevents another block: "blocks", "warps", "registers",
// "shared memory" or "threads of a block". With 0 blocks the kernel cannot be launched.
struct Occupancy {
  int blocks = 0;
  int warps = 0;
  const char* limit = "";
};

// threads_per_block is at least 1, and shared_bytes (static and dynamic) at least 0. Without
// registers_per_thread, registers are no limit.
Occupancy occupancy_of(const GpuProperties& gpu, int threads_per_block, int64_t shared_bytes,
                       std::optional<int> registers_per_thread);

}  // namespace simt
