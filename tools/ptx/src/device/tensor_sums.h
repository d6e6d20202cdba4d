// The rounding of sums of products in tensor cores.
#pragma once

#include <cmath>

#include "interpreter.h"

namespace ptx {

inline float tensor_sum(double exact, TensorSums sums) {
  const float nearest = static_cast<float>(exact);
  if (sums == TensorSums::truncated && std::fabs(double{nearest}) > std::fabs(exact))
    return std::nextafter(nearest, 0.0f);
  return nearest;
}

}  // namespace ptx
