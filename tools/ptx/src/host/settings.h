#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "../device/interpreter.h"

namespace ptx {

// The settings of the interpreter, from the environment; docs/ptx.md has the table. The first call reads
// them. An invalid value ends the process with a message on stderr and exit code 2.
struct Settings {
  TensorSums tensor_sums = TensorSums::nearest;  // PTX_TENSOR_SUMS
  TensorTies tensor_ties = TensorTies::even;     // PTX_TENSOR_TIES
  Checks checks;                                 // PTX_ALLOW, PTX_CHECK
  std::vector<std::string> unwritten_kernels;    // PTX_ALLOW=unwritten:NAME
  std::string report;                            // PTX_REPORT: a file
  std::chrono::seconds patience{5};              // PTX_PATIENCE
};
const Settings& settings();

// When asynchronous operations happen: PTX_LATE; without it all are late if SIMT_LATE_COPIES is 1, which a
// program may change by simt::set_late_copies(). With a seed, late ones happen at drawn moments.
Lateness lateness();

}  // namespace ptx
