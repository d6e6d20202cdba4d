// What the optimizers check before they start anything.
#pragma once

#include <rondo/kernels/core/check.h>

#include <cmath>

namespace rondo::optimizer {

// Parameters and what goes with them: all good, and of one size.
inline Status check_arrays(const char* operation, VectorView<float> parameters) {
  return check_view(operation, "parameters", parameters);
}

template <class T, class... Others>
Status check_arrays(const char* operation, VectorView<float> parameters,
                    std::pair<const char*, VectorView<T>> one, Others... others) {
  RONDO_RETURN_IF_ERROR(check_view(operation, one.first, one.second));
  if (one.second.size != parameters.size)
    return bad_argument(operation, ": ", one.first, ".size is ", one.second.size,
                        ", must be parameters.size = ", parameters.size);
  return check_arrays(operation, parameters, others...);
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
