// The work of `rondo profile`: an operation on synthetic data, ready to be launched.
#pragma once

#include <rondo/tools/rondo/profile/arguments.h>

#include <functional>
#include <string>
#include <vector>

namespace rondo::program {

struct Workload {
  std::string name;           // "gemm 1024 x 1024 x 1024"
  std::string part;           // "01_naive", "forward"; empty: the work has only one part
  double flops = 0;           // by the definition of the operation; 0: not counted
  std::function<void()> run;  // enqueues it once; throws rondo::Error
};

// The parts of the work, with their data in the memory of the devices. Throws rondo::Error.
std::vector<Workload> make_workloads(const ProfileArguments& arguments);

}  // namespace rondo::program
