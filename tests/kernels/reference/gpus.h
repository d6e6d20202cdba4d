// The GPUs of the tables of choices: those that the forecasts know, and one of each other compute capability
// that the build is for.
#pragma once

#include <rondo/kernels/gemm/device_properties.h>
#include <simt/gpus.h>

#include <algorithm>
#include <string>
#include <vector>

namespace rondo::test {

struct Gpu {
  std::string name;
  int capability;  // times 10
  DeviceProperties device;
};

// In ascending order of the capability. An RTX A6000 has 84 multiprocessors (GA102 white paper).
inline std::vector<Gpu> all_gpus() {
  std::vector<Gpu> all = {{"rtxa6000", 86, {84, 99 * 1024}}};
  for (const simt::GpuProperties& gpu : simt::gpus())
    all.push_back({gpu.name,
                   10 * gpu.major + gpu.minor,
                   {gpu.multiprocessors, gpu.shared_block_kb * 1024, false, gpu.major == 9}});
  std::ranges::stable_sort(all, {}, &Gpu::capability);
  return all;
}

}  // namespace rondo::test
