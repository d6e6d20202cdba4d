// The device half of <simt/kernel.h> and device_half.h for kernels in PTX.
#include "kernel_code.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "device_half.h"
#include "device_memory.h"
#include "gpu_limits.h"
#include "pieces.h"
#include "runtime.h"
#include "settings.h"

namespace ptx {
namespace {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void put(const dim3& from, uint32_t (&to)[3]) {
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
}

Launch launch_of(const simt::Kernel& kernel) {
  const auto& prepared = *static_cast<const PreparedLaunch*>(kernel.code);
  const simt::GpuProperties& gpu = simt::limits(kernel.device);
  Launch launch;
  launch.kernel = prepared.code().kernel;
  put(kernel.grid, launch.shape.grid);
  put(kernel.block, launch.shape.block);
  put(kernel.cluster, launch.shape.cluster);
  launch.shape.dynamic_shared = static_cast<uint32_t>(kernel.shared_bytes);
  launch.parameters = prepared.parameters();
  launch.memory = &memory_of(kernel.device);
  launch.heap = heap_of(kernel.device);
  launch.print = print;
  launch.multiprocessors = static_cast<uint32_t>(
      gpu.multiprocessors ? gpu.multiprocessors : simt::Runtime::get().scheduler.workers());
  launch.sequence = static_cast<uint32_t>(kernel.sequence);
  launch.seed = simt::settings().seed;
  launch.late = lateness();
  launch.tensor_sums = settings().tensor_sums;
  launch.tensor_ties = settings().tensor_ties;
  launch.checks = settings().checks;
  for (const std::string& part : settings().unwritten_kernels)
    if (kernel.name.find(part) != std::string::npos) launch.checks.unwritten = false;
  launch.another_cluster = simt::another_piece;
  launch.patience = settings().patience;
  launch.host_waits = [] { return simt::Runtime::get().scheduler.host_waits(); };
  launch.count = !settings().report.empty();
  return launch;
}

template <class Work>
simt::Fault answer(const simt::Kernel& kernel, const Work& work) {
  try {
    work(launch_of(kernel));
    return {};
  } catch (const Fault& fault) {
    return {static_cast<cudaError_t>(fault.error), fault.text};
  }
}

}  // namespace

std::shared_ptr<RaceLog> ExecutionLog::begin_cluster(uint64_t clusters) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (begun_ == 0) log_ = make_race_log();
  if (++begun_ < clusters) return log_;
  begun_ = 0;
  return std::move(log_);
}

PreparedLaunch::PreparedLaunch(KernelCode code, void* const* arguments)
    : code_(std::move(code)), bytes_(static_cast<size_t>(code_.kernel->parameter_bytes) + kAlignment) {
  const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
  begin_ = bytes_.data() + (kAlignment - address % kAlignment) % kAlignment;
  const std::vector<Parameter>& parameters = code_.kernel->parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    std::memcpy(begin_ + parameters[i].offset, arguments[i], static_cast<size_t>(parameters[i].bytes));
}

std::vector<simt::Argument> PreparedLaunch::arguments() const {
  std::vector<simt::Argument> all;
  for (const Parameter& parameter : code_.kernel->parameters)
    all.push_back({begin_ + parameter.offset, static_cast<size_t>(parameter.bytes), false});
  return all;
}

simt::Launch prepare(const void* function, void* const* arguments) {
  simt::require(function, cudaErrorInvalidDeviceFunction);
  KernelCode code = Program::get().kernel(function, simt::host_thread().device);
  simt::require(arguments || code.kernel->parameters.empty(), cudaErrorInvalidValue);
  auto* const prepared = new PreparedLaunch(std::move(code), arguments);
  simt::Launch launch;
  launch.kernel = function;
  launch.storage = simt::AnyObject(prepared);
  launch.arguments = prepared->arguments();
  launch.code = prepared;
  return launch;
}

}  // namespace ptx

namespace simt {

const char* const kDeviceName = "PTX interpreter";

Fault run_cluster(const Kernel& kernel, uint64_t cluster) {
  return ptx::answer(kernel, [&](ptx::Launch launch) {
    if (launch.checks.races) {
      ptx::ExecutionLog& log = static_cast<const ptx::PreparedLaunch*>(kernel.code)->races();
      const uint64_t clusters = ptx::cluster_count(launch);
      launch.races = log.begin_cluster(clusters);
      launch.another_cluster = [&log, clusters]() -> std::optional<uint64_t> {
        const std::optional<uint64_t> another = another_piece();
        if (another) static_cast<void>(log.begin_cluster(clusters));
        return another;
      };
    }
    ptx::run_cluster(launch, cluster);
  });
}

const bool kCooperativeLaunches = true;
Fault run_together(const Kernel& kernel) {
  constexpr size_t kWorkspace = 256;  // of grid.sync(): the barrier's counter is in it
  Memory& memory = Runtime::get().memory;
  void* workspace = nullptr;
  if (memory.allocate(Memory::kHost, kWorkspace, &workspace) != cudaSuccess) throw std::bad_alloc();
  std::memset(workspace, 0, kWorkspace);
  const Fault fault = ptx::answer(kernel, [&](ptx::Launch launch) {
    launch.cooperative = workspace;
    ptx::run_together(launch);
  });
  static_cast<void>(memory.release(workspace, true));
  return fault;
}

void join_blocks(const Kernel&) {}

KernelFacts facts_of(const void* kernel, int device) {
  const ptx::KernelCode code = ptx::Program::get().kernel(kernel, device);
  const auto [x, y, z] = code.kernel->cluster;
  return {.threads = std::min(1024, code.kernel->max_threads),
          .shared_bytes = static_cast<size_t>(code.kernel->static_shared),
          .constant_bytes = 0,
          .local_bytes = static_cast<size_t>(code.kernel->local_bytes),
          .ptx_version = code.architecture,
          .cluster = {x, y, z}};
}

std::optional<std::vector<ArgumentPlace>> argument_places(const void* kernel) {
  const ptx::KernelCode code = ptx::Program::get().kernel(kernel, host_thread().device);
  std::vector<ArgumentPlace> places;
  for (const ptx::Parameter& parameter : code.kernel->parameters)
    places.push_back({static_cast<size_t>(parameter.offset), static_cast<size_t>(parameter.bytes)});
  return places;
}

Launch prepare(const void* kernel, void* const* arguments) { return ptx::prepare(kernel, arguments); }

std::optional<Variable> variable_of(const void* symbol, int device) {
  const ptx::Variable variable = ptx::Program::get().variable(symbol, device);
  return Variable{variable.data, variable.bytes, variable.constant, false};
}
std::vector<Variable> new_variables_of(int) { return {}; }  // Program::load() enters them

void forget_variables(int device) {
  ptx::Program::get().forget_variables(device);
  ptx::forget_heap(device);
}

}  // namespace simt
