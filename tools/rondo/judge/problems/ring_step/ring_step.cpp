#include <rondo/tools/rondo/judge/timeline.h>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

// The first element of a chunk, of n elements.
size_t ring_step_begin(int n, int chunk, int devices) {
  return static_cast<size_t>(int64_t{n} * chunk / devices);
}

// After the step, if device d receives from device (d + from) % devices the chunk (d + chunk - step) %
// devices, without the last elements that do not divide by the devices if `divided`.
std::vector<double> ring_step_result(const std::vector<float>& data, int n, int step, int devices, int from,
                                     int chunk, bool divided = false) {
  std::vector<double> result(data.begin(), data.end());
  for (int d = 0; d < devices; ++d) {
    const int received = (d + chunk - step + 2 * devices) % devices;
    const int each = n / devices;
    const size_t begin =
        divided ? static_cast<size_t>(each * received) : ring_step_begin(n, received, devices);
    const size_t end =
        divided ? static_cast<size_t>(each * (received + 1)) : ring_step_begin(n, received + 1, devices);
    const size_t to = static_cast<size_t>(d) * static_cast<size_t>(n);
    const size_t source = static_cast<size_t>((d + from + devices) % devices) * static_cast<size_t>(n);
    for (size_t i = begin; i < end; ++i) result[to + i] += data[source + i];
  }
  return result;
}

void fill_ring_step(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"], step = sizes["step"], devices = sizes["devices"];
  to.devices = devices;
  const std::vector<float> data = random.floats(int64_t{n} * devices);
  // One addition of values below 1: a rounding is at most 2^-24.
  Expected sum{.values = ring_step_result(data, n, step, devices, -1, -1), .absolute = 1e-7};
  Argument& argument = to.in_out_on_devices("data", data, sum);
  if (devices > 2)
    argument.mistakes.push_back({ring_step_result(data, n, step, devices, 1, -1), "",
                                 "each device has received from the next device, not from the previous one"});
  argument.mistakes.push_back({ring_step_result(data, n, step, devices, -1, 0), "",
                               "each device has received the chunk that it sends in this step"});
  if (n >= devices)
    argument.mistakes.push_back({ring_step_result(data, n, step, devices, -1, -1, true), "",
                                 "chunks of n / devices elements leave the last n % devices elements out"});
  to.scalar("n", n);
  to.scalar("step", step);
  to.scalar("devices", devices);
}

// The largest chunk over a link.
double ring_step_bound(const Sizes& sizes, const simt::GpuProperties& gpu) {
  return 4.0 * sizes["n"] / sizes["devices"] / links_of(gpu).peer;
}

}  // namespace

Problem ring_step_problem() {
  return {.name = "ring_step",
          .title = "A step of a ring",
          .idea = "copies between devices, and what orders them",
          .declaration = "void ring_step(float* const* data, int n, int step, int devices)",
          .sizes = {{{"n", 1}, {"step", 0}, {"devices", 2}},
                    {{"n", 7}, {"step", 1}, {"devices", 3}},
                    {{"n", 3}, {"step", 2}, {"devices", 5}},
                    {{"n", 1000}, {"step", 0}, {"devices", 2}},
                    {{"n", 10007}, {"step", 1}, {"devices", 4}},
                    {{"n", 10007}, {"step", 3}, {"devices", 5}}},
          .counted = {{"n", 1 << 21}, {"step", 1}, {"devices", 4}},
          .fill = fill_ring_step,
          .bound = ring_step_bound};
}

}  // namespace rondo::program
