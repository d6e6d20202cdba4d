#include <simt/gpus.h>

#include <algorithm>
#include <iterator>

namespace simt {
namespace {

// Sources.
//
// By compute capability: capability, warps, blocks, registers and shared memory are the tables "Technical
// Specifications" of the CUDA C++ Programming Guide, and fp32_lanes its table of arithmetic throughput.
// Allocation units are those of cuda_occupancy.h (CUDA 13.0). shared_wavefronts: 128 bytes per cycle, 32
// banks of 4 bytes (Programming Guide, "Shared Memory" of each capability). schedulers: the tuning guides of
// Turing, Ampere, Ada, Hopper and Blackwell.
//
// By product:
//   t4       T4 data sheet: 8.1 TFLOP/s fp32 and 65 fp16. Turing white paper: 40 multiprocessors, boost 1.59
//            GHz, 320 GB/s, L2 4 MB. l2_gb_s: measured by Jia et al., arXiv:1903.07486.
//   a100     A100 white paper, 40 GB: 108 multiprocessors, 1.41 GHz, 1555 GB/s, L2 40 MB with 5120 bytes per
//            clock, 312 and 156 TFLOP/s. The 80 GB product differs in its memory alone: 2039 GB/s.
//            l2_gb_s: 5120 bytes x 1.41 GHz, the documented peak. Measured values are near 5000.
//   rtx4090  Ada white paper: 128 multiprocessors, 2.52 GHz, 1008 GB/s, L2 72 MB, 165.2 TFLOP/s fp16 with
//            fp32 sums, 82.6 tf32. l2_gb_s: 1946 bytes per clock, measured by the
//            GitHub project smallscientist1/cuda_microbenchmark.
//   h100     H100 white paper, SXM5: 132 multiprocessors, L2 50 MB, 3352 GB/s, 989.4 and 494.7 TFLOP/s.
//            boost_ghz: its 66.9 TFLOP/s fp32; the tensor figures are at 1.83 GHz. l2_gb_s: measured, as in
//            the cost model of OpenXLA.
//   h200     H200 data sheet, SXM: 4.8 TB/s. The rest is an H100.
//   b200     Blackwell tuning guide: L2 126 MB. HGX B200 data sheet, one of eight GPUs: 7.7 TB/s, 2250
//            TFLOP/s fp16, 1125 tf32. multiprocessors, boost_ghz: as the driver reports them. l2_gb_s: that
//            of two H100s, because each of the two dies has an L2 cache; not measured.
//   rtx5090  RTX Blackwell white paper: 170 multiprocessors, 2.407 GHz, 1792 GB/s, L2 96 MB, 209.5 TFLOP/s
//            fp16 with fp32 sums, 104.8 tf32. l2_gb_s: the bytes per clock of an RTX 4090; not measured.
//
// graph_node_us: an estimate for an H100, used for all. bench_sm90 measures it on a GPU.
// clang-format off
constexpr GpuProperties kGpus[] = {
    {.name = "t4", .title = "a T4", .part = "T4",
     .major = 7, .minor = 5, .multiprocessors = 40, .boost_ghz = 1.59,
     .schedulers = 4, .fp32_lanes = 64, .shared_wavefronts = 1, .warps = 32, .blocks = 16,
     .registers = 65536, .register_unit = 256,
     .shared_kb = 64, .shared_block_kb = 64, .shared_reserved_kb = 0, .shared_unit = 256,
     .dram_gb_s = 320, .l2_mb = 4, .l2_gb_s = 1270,
     .fp16_tflops = 65, .tf32_tflops = 0, .graph_node_us = 1.4},
    {.name = "a100", .title = "an A100", .part = "A100 SXM4 40 GB",
     .major = 8, .minor = 0, .multiprocessors = 108, .boost_ghz = 1.41,
     .schedulers = 4, .fp32_lanes = 64, .shared_wavefronts = 1, .warps = 64, .blocks = 32,
     .registers = 65536, .register_unit = 256,
     .shared_kb = 164, .shared_block_kb = 163, .shared_reserved_kb = 1, .shared_unit = 128,
     .dram_gb_s = 1555, .l2_mb = 40, .l2_gb_s = 7219,
     .fp16_tflops = 312, .tf32_tflops = 156, .graph_node_us = 1.4},
    {.name = "rtx4090", .title = "an RTX 4090", .part = "GeForce RTX 4090",
     .major = 8, .minor = 9, .multiprocessors = 128, .boost_ghz = 2.52,
     .schedulers = 4, .fp32_lanes = 128, .shared_wavefronts = 1, .warps = 48, .blocks = 24,
     .registers = 65536, .register_unit = 256,
     .shared_kb = 100, .shared_block_kb = 99, .shared_reserved_kb = 1, .shared_unit = 128,
     .dram_gb_s = 1008, .l2_mb = 72, .l2_gb_s = 4900,
     .fp16_tflops = 165.2, .tf32_tflops = 82.6, .graph_node_us = 1.4},
    {.name = "h100", .title = "an H100", .part = "H100 SXM5 80 GB",
     .major = 9, .minor = 0, .multiprocessors = 132, .boost_ghz = 1.98,
     .schedulers = 4, .fp32_lanes = 128, .shared_wavefronts = 1, .warps = 64, .blocks = 32,
     .registers = 65536, .register_unit = 256,
     .shared_kb = 228, .shared_block_kb = 227, .shared_reserved_kb = 1, .shared_unit = 128,
     .dram_gb_s = 3352, .l2_mb = 50, .l2_gb_s = 6650,
     .fp16_tflops = 989.4, .tf32_tflops = 494.7, .graph_node_us = 1.4},
    {.name = "h200", .title = "an H200", .part = "H200 SXM 141 GB",
     .major = 9, .minor = 0, .multiprocessors = 132, .boost_ghz = 1.98,
     .schedulers = 4, .fp32_lanes = 128, .shared_wavefronts = 1, .warps = 64, .blocks = 32,
     .registers = 65536, .register_unit = 256,
     .shared_kb = 228, .shared_block_kb = 227, .shared_reserved_kb = 1, .shared_unit = 128,
     .dram_gb_s = 4800, .l2_mb = 50, .l2_gb_s = 6650,
     .fp16_tflops = 989.4, .tf32_tflops = 494.7, .graph_node_us = 1.4},
    {.name = "b200", .title = "a B200", .part = "B200 SXM 180 GB",
     .major = 10, .minor = 0, .multiprocessors = 148, .boost_ghz = 1.965,
     .schedulers = 4, .fp32_lanes = 128, .shared_wavefronts = 1, .warps = 64, .blocks = 32,
     .registers = 65536, .register_unit = 256,
     .shared_kb = 228, .shared_block_kb = 227, .shared_reserved_kb = 1, .shared_unit = 128,
     .dram_gb_s = 7700, .l2_mb = 126, .l2_gb_s = 13300,
     .fp16_tflops = 2250, .tf32_tflops = 1125, .graph_node_us = 1.4},
    {.name = "rtx5090", .title = "an RTX 5090", .part = "GeForce RTX 5090",
     .major = 12, .minor = 0, .multiprocessors = 170, .boost_ghz = 2.407,
     .schedulers = 4, .fp32_lanes = 128, .shared_wavefronts = 1, .warps = 48, .blocks = 24,
     .registers = 65536, .register_unit = 256,
     .shared_kb = 100, .shared_block_kb = 99, .shared_reserved_kb = 1, .shared_unit = 128,
     .dram_gb_s = 1792, .l2_mb = 96, .l2_gb_s = 4680,
     .fp16_tflops = 209.5, .tf32_tflops = 104.8, .graph_node_us = 1.4},
};
// clang-format on

constexpr int kWarp = 32;
constexpr int kMostRegistersPerThread = 255;

constexpr int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

int blocks_by_registers(const GpuProperties& gpu, int warps, int registers_per_thread) {
  if (registers_per_thread > kMostRegistersPerThread) return 0;
  // Each scheduler has its part of the registers, and a warp belongs to one scheduler.
  const int64_t of_warp = rounded_up(int64_t{kWarp} * registers_per_thread, gpu.register_unit);
  return static_cast<int>(gpu.registers / gpu.schedulers / of_warp * gpu.schedulers / warps);
}

int blocks_by_shared_memory(const GpuProperties& gpu, int64_t bytes) {
  const int64_t taken = rounded_up(bytes + (int64_t{gpu.shared_reserved_kb} << 10), gpu.shared_unit);
  return taken == 0 ? gpu.blocks : static_cast<int>((int64_t{gpu.shared_kb} << 10) / taken);
}

}  // namespace

std::span<const GpuProperties> gpus() { return kGpus; }

const GpuProperties* gpu_named(std::string_view name) {
  const auto found = std::ranges::find(kGpus, name, &GpuProperties::name);
  return found == std::end(kGpus) ? nullptr : found;
}

std::optional<std::vector<const GpuProperties*>> gpus_named(std::string_view list) {
  std::vector<const GpuProperties*> named;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const GpuProperties* const gpu = gpu_named(list.substr(0, end));
    if (!gpu || end + 1 == list.size()) return {};
    named.push_back(gpu);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return named;
}

std::string gpu_names() {
  std::string names;
  for (const GpuProperties& gpu : kGpus) names += (names.empty() ? "" : ", ") + std::string(gpu.name);
  return names;
}

Occupancy occupancy_of(const GpuProperties& gpu, int threads_per_block, int64_t shared_bytes,
                       std::optional<int> registers_per_thread) {
  if (threads_per_block > kMostThreadsPerBlock) return {0, 0, "threads of a block"};
  const int warps = (threads_per_block + kWarp - 1) / kWarp;
  Occupancy occupancy = {gpu.blocks, 0, "blocks"};
  const auto bound = [&](int blocks, const char* limit) {
    if (blocks < occupancy.blocks) occupancy = {blocks, 0, limit};
  };
  bound(gpu.warps / warps, "warps");
  if (registers_per_thread.value_or(0) > 0)
    bound(blocks_by_registers(gpu, warps, *registers_per_thread), "registers");
  bound(blocks_by_shared_memory(gpu, shared_bytes), "shared memory");
  occupancy.warps = occupancy.blocks * warps;
  return occupancy;
}

}  // namespace simt
