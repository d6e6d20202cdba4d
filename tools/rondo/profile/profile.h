// `rondo profile`: counts the memory accesses of kernels, and computes a lower bound of their time on a GPU.
#pragma once

#include <rondo/tools/rondo/profile/arguments.h>
#include <rondo/tools/rondo/profile/forecast.h>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

struct ProfiledKernel {
  simt::KernelProfile profile;
  std::string name;              // short
  std::optional<int> registers;  // per thread
  KernelForecast forecast;
};

// One part of the work: its kernels in the order of their first launches.
struct ProfiledPart {
  std::string name;
  double flops = 0;  // 0: not counted
  std::vector<ProfiledKernel> kernels;

  double min_seconds() const;  // sum over the kernels
};

struct ProfileReport {
  std::string work;
  std::string plan;  // what gemm() chooses; empty if it does not run
  const simt::GpuProperties* gpu = nullptr;
  bool warm = false;
  std::vector<ProfiledPart> parts;
};

// Runs the work once and counts. Needs a build that observes kernels. Throws rondo::Error.
ProfileReport run_profile(const ProfileArguments& arguments);

void show_profile_text(const ProfileReport& report, bool lines, std::ostream& out);
std::string profile_json(const ProfileReport& report);
std::string profile_svg(const ProfileReport& report);

}  // namespace rondo::program
