// Inputs of the benchmarks, reproducible from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace rondo::bench {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t below(int64_t bound) { return std::uniform_int_distribution<int64_t>(0, bound - 1)(engine_); }
  double normal() { return normal_(engine_); }  // N(0, 1)

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

inline std::vector<float> normal_values(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

}  // namespace rondo::bench
