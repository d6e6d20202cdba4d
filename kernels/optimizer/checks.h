// What the optimizers check before they start anything.
#pragma once

#include <rondo/kernels/core/check.h>

#include <cmath>

namespace rondo::optimizer {

// Parameters and what goes with them: all good, and of one size.
template <class... Other>
Status check_arrays(const char* operation, VectorView<float> parameters,
                    std::pair<const char*, VectorView<Other>>... others) {
  Status status = check_view(operation, "parameters", parameters);
  const auto check_one = [&](const char* argument, const auto& view) {
    if (status.ok()) status = check_view(operation, argument, view);
    if (status.ok() && view.size != parameters.size)
      status = bad_argument(operation, ": ", argument, ".size is ", view.size,
                            ", must be parameters.size = ", parameters.size);
  };
  (check_one(others.first, others.second), ...);
  return status;
}

// A share of what was there before: at least 0 and below 1.
inline Status check_share(const char* operation, const char* argument, float value) {
  if (value >= 0 && value < 1) return {};  // NaN fails both
  return bad_argument(operation, ": ", argument, " is ", value, ", must be at least 0 and below 1");
}

inline Status check_not_negative(const char* operation, const char* argument, float value) {
  if (value >= 0 && std::isfinite(value)) return {};
  return bad_argument(operation, ": ", argument, " is ", value, ", must be finite and not negative");
}

inline Status check_finite(const char* operation, const char* argument, float value) {
  if (std::isfinite(value)) return {};
  return bad_argument(operation, ": ", argument, " is ", value, ", must be finite");
}

}  // namespace rondo::optimizer
