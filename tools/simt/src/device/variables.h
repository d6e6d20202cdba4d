// Which copies the names of device variables mean (simt/variables.h).
#pragma once

namespace simt {

namespace detail {
inline thread_local constinit int bound_device = 0;  // whose copies they mean in this OS thread
}

void bind_variables(int device);

// Called before a block runs.
inline void use_variables_of(int device) {
  if (detail::bound_device != device) bind_variables(device);
}

}  // namespace simt
