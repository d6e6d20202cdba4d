// main() of every benchmark. It extends Google Benchmark's context by the data that the results depend on.
// Exit codes: 0 success, 1 a benchmark failed, 2 a bad argument, such as a filter that is no regular
// expression or matches no benchmark's name.

#include <cuda_runtime_api.h>

#include <benchmark/benchmark.h>
#include <rondo_commit.h>

#include <rondo/bench/support/bench.h>
#include <rondo/bench/support/display.h>
#include <rondo/bench/timing/peaks.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>

namespace {

using rondo::concat;

void add_context() {
  int driver = 0, runtime = 0, core_khz = 0, memory_khz = 0;
  cudaDeviceProp device;
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&device, 0));
  RONDO_CUDA_THROW(cudaDriverGetVersion(&driver));
  RONDO_CUDA_THROW(cudaRuntimeGetVersion(&runtime));
  RONDO_CUDA_THROW(cudaDeviceGetAttribute(&core_khz, cudaDevAttrClockRate, 0));
  RONDO_CUDA_THROW(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0));
  benchmark::AddCustomContext("commit", RONDO_COMMIT);
  benchmark::AddCustomContext("platform", rondo::platform());
  benchmark::AddCustomContext("device", rondo::describe_device(0));
  benchmark::AddCustomContext("l2_bytes", concat(device.l2CacheSize));
  benchmark::AddCustomContext("driver_version", concat(driver));
  benchmark::AddCustomContext("runtime_version", concat(runtime));
  benchmark::AddCustomContext("highest_core_clock_mhz", concat(core_khz / 1000));
  benchmark::AddCustomContext("highest_memory_clock_mhz", concat(memory_khz / 1000));
  const rondo::bench::Peaks& peaks = rondo::bench::peaks();
  benchmark::AddCustomContext("copy_bandwidth_bytes_per_second", concat(peaks.copy_bytes_per_second));
  benchmark::AddCustomContext("copy_bandwidth_by", peaks.copy_by);
  benchmark::AddCustomContext("fma_peak_flops_per_second", concat(peaks.fma_flops_per_second));
}

// Google Benchmark calls it instead of an error message where the format or the unit of time is none of the
// listed ones, and then exits with 0.
void refuse_format() {
  benchmark::PrintDefaultHelp();
  std::cerr
      << "--benchmark_format, --benchmark_out_format or --benchmark_time_unit has none of these values\n";
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  rondo::set_cuda_environment();
  const bool asks_for_help =
      std::any_of(argv, argv + argc, [](std::string_view word) { return word == "--help"; });
  benchmark::Initialize(&argc, argv, asks_for_help ? benchmark::PrintDefaultHelp : refuse_format);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  int devices = 0;
  if (const rondo::Status counted = rondo::count_devices(devices); !counted.ok()) {
    std::cerr << counted.message() << '\n';
    return 2;
  }
  if (devices == 0) {
    std::cerr << "no CUDA device here; the preset cpu runs the same benchmarks without one\n";
    return 2;
  }
  try {
    add_context();
    rondo::bench::register_benchmarks();
    rondo::bench::Display display;
    if (benchmark::RunSpecifiedBenchmarks(&display) == 0) return 2;  // it has printed why
    if (display.failed()) return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  benchmark::Shutdown();
}
