// RandomOrder: until the end of the scope, the executor runs work in an order drawn from the seed. No effect
// on GPUs.
#pragma once

#include <cuda_runtime.h>  // the executor's defines __SIMT__

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
