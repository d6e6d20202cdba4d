// The least possible time of a call: its work over the measured peaks of the device.
#pragma once

#include <rondo/kernels/core/arithmetic.h>

#include <string>

namespace rondo::bench {

// The minimum work of one call: every input read once, every output written once.
struct Work {
  double flops = 0;
  double bytes = 0;
};

// The least possible time of a call, and the name of the limit.
struct Bound {
  double seconds = 0;
  std::string name;
};

// The larger of flops / measured peak and bytes / measured copy bandwidth, for the current device. The peak
// is that of fp32 FMA; of tensor cores if the arithmetic uses them and they are no emulation (peaks.h).
Bound bound_of(const Work& work, Arithmetic arithmetic = Arithmetic::fp32);

}  // namespace rondo::bench
