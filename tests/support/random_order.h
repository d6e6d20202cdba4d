// RandomOrder: the executor runs what follows in an order drawn from the seed, until the end of the scope. On GPUs
// the order is the GPU's.
#pragma once

#include <cuda_runtime.h>  // defines __SIMT__ where it is the executor's

#include <cstdint>
#include <optional>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo::test {

class RandomOrder {
 public:
  explicit RandomOrder([[maybe_unused]] uint64_t seed) {
#ifdef __SIMT__
    simt::set_seed(seed);
#endif
  }
  ~RandomOrder() {
#ifdef __SIMT__
    simt::set_seed(std::nullopt);
#endif
  }
  RandomOrder(const RandomOrder&) = delete;
  RandomOrder& operator=(const RandomOrder&) = delete;
};

}  // namespace rondo::test
