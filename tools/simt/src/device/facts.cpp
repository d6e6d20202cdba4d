// What the host half asks about kernels that are C++: nothing is known of their code.
#include "../base/device_half.h"

namespace simt {

const char* const kDeviceName = "CPU executor";

const bool kCooperativeLaunches = false;
Fault run_together(const Kernel&) {
  return {cudaErrorNotSupported, "the executor has no cooperative launches"};
}

KernelFacts facts_of(const void*, int) { return {}; }
void forget_variables(int) {}  // they are variables of the program

}  // namespace simt
