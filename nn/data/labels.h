// Checks the range of labels in host memory.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>
#include <span>

namespace rondo::nn {

// Throws a bad_argument Error that begins with `who` and names the first label outside [0, classes), where
// `classes` is the number of the network's outputs.
template <class T>
void check_labels(const char* who, std::span<const T> labels, int64_t classes) {
  for (size_t i = 0; i < labels.size(); ++i)
    if (static_cast<int64_t>(labels[i]) < 0 || static_cast<int64_t>(labels[i]) >= classes)
      throw Error(bad_argument(who, ": the label of sample ", i, " is ", static_cast<int64_t>(labels[i]),
                               ", must be 0 to ", classes - 1, ", for the network's ", classes,
                               classes == 1 ? " output" : " outputs"));
}

}  // namespace rondo::nn
