#include <rondo/tools/rondo/judge/timeline.h>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_ring_all_reduce(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"], devices = sizes["devices"];
  to.devices = devices;
  const auto each = static_cast<size_t>(n), all = static_cast<size_t>(devices);
  const std::vector<float> data = random.floats(int64_t{n} * devices);
  std::vector<double> one(each);
  for (size_t i = 0; i < data.size(); ++i) one[i % each] += data[i];
  // The values after the all-reduce, and of the mistakes, on each device.
  std::vector<double> sums, rebound(data.begin(), data.end()), scattered(data.begin(), data.end());
  for (size_t d = 0; d < all; ++d) sums.insert(sums.end(), one.begin(), one.end());
  std::copy(one.begin(), one.end(), rebound.begin());
  // After the reduce-scatter alone, the chunk d + 1 of device d has the sum; chunk c there has those of the
  // devices from c to d.
  for (size_t d = 0; d < all; ++d)
    for (size_t c = 0; c < all; ++c)
      for (size_t i = each * c / all; i < each * (c + 1) / all; ++i)
        for (size_t from = c; from % all != d; ++from) scattered[d * each + i] += data[from % all * each + i];
  // Up to 4 additions in any order, of sums below 5: each rounds by at most 2^-22.
  Argument& argument = to.in_out_on_devices("data", data, {.values = sums, .absolute = 1e-6});
  if (devices > 1) {
    argument.mistakes.push_back(
        {rebound, "The sum that is rebound", "only device 0 has the sum: the others keep their own values"});
    argument.mistakes.push_back(
        {scattered, "",
         "the reduce-scatter is right; after it each device has the sum of one chunk, and the "
         "all-gather of these is missing"});
  }
  to.scalar("n", n);
  to.scalar("devices", devices);
}

// Each device must send and receive 2 (devices - 1) / devices of its values.
double ring_all_reduce_bound(const Sizes& sizes, const simt::GpuProperties& gpu) {
  const int devices = sizes["devices"];
  return 4.0 * sizes["n"] * 2 * (devices - 1) / devices / links_of(gpu).peer;
}

}  // namespace

Problem ring_all_reduce_problem() {
  return {.name = "ring_all_reduce",
          .title = "Ring all-reduce",
          .idea = "the same bytes over each link, whatever the number of devices",
          .declaration = "void ring_all_reduce(float* const* data, int n, int devices)",
          .sizes = {{{"n", 1}, {"devices", 1}},
                    {{"n", 1}, {"devices", 2}},
                    {{"n", 3}, {"devices", 5}},
                    {{"n", 100}, {"devices", 3}},
                    {{"n", 10007}, {"devices", 2}},
                    {{"n", 10007}, {"devices", 4}},
                    {{"n", 10007}, {"devices", 5}}},
          .counted = {{"n", 1 << 20}, {"devices", 4}},
          .fill = fill_ring_all_reduce,
          .bound = ring_all_reduce_bound};
}

}  // namespace rondo::program
