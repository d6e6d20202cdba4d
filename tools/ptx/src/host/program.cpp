#include "program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "gpu_limits.h"
#include "report.h"
#include "runtime.h"
#include "settings.h"
#include "text.h"

namespace ptx {
namespace {

// Calls `work`. A Fault becomes the error of the CUDA function that is being called.
template <class Work>
auto told(const std::string& what, const Work& work) {
  try {
    return work();
  } catch (const Fault& fault) {
    std::fprintf(stderr, "ptx: %s: %s\n", what.c_str(), fault.text.c_str());
    throw simt::Failure{static_cast<cudaError_t>(fault.error)};
  }
}

// Adds to the file of PTX_REPORT, before host code unregisters its units. Returns whether there is one.
bool report_at_exit() {
  if (settings().report.empty()) return false;
  std::atexit([] {
    if (!add_to_report(settings().report, Program::get().report()))
      std::fprintf(stderr, "ptx: PTX_REPORT=%s can't be written\n", settings().report.c_str());
  });
  return true;
}

}  // namespace

// Never destroyed: host code unregisters its units when the process ends.
Program& Program::get() {
  static Program& program = *new Program;
  return program;
}

Unit* Program::add_unit(const std::vector<const void*>& fat_binaries) {
  const std::lock_guard lock(mutex_);
  units_.push_back(std::make_unique<Unit>(fat_binaries));
  return units_.back().get();
}

// The modules stay: launches that have not ended may need them.
void Program::remove_unit(Unit* unit) {
  const std::lock_guard lock(mutex_);
  const auto of_unit = [&](const auto& entry) { return entry.second.unit == unit; };
  std::erase_if(kernels_, of_unit);
  std::erase_if(variables_, of_unit);
}

void Program::add_kernel(Unit* unit, const void* host, std::string name) {
  const std::lock_guard lock(mutex_);
  kernels_[host] = {unit, std::move(name)};
}

void Program::add_variable(Unit* unit, const void* host, std::string name) {
  const std::lock_guard lock(mutex_);
  unit->has_variables = true;
  variables_[host] = {unit, std::move(name)};
}

void Program::add_managed(Unit* unit, void** pointer, std::string name) {
  const std::lock_guard lock(mutex_);
  unit->managed.emplace_back(pointer, std::move(name));
}

void Program::place_managed(Unit* unit) {
  const std::lock_guard lock(mutex_);
  if (unit->managed.empty()) return;
  told("the managed variables of the program", [&] {
    const std::vector<Variable> known = variables(*load(*unit, 0).module);
    for (const auto& [pointer, name] : unit->managed)
      for (const Variable& variable : known)
        if (variable.name == name) *pointer = variable.data;
  });
}

const char* Program::kernel_name(const void* host) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(host);
  return found == kernels_.end() ? nullptr : found->second.name.c_str();
}

Unit::Loaded& Program::load(Unit& unit, int device) {
  const simt::GpuProperties& gpu = simt::limits(device);
  const bool shared = !unit.has_variables || !unit.managed.empty();
  Unit::Loaded& loaded = unit.loaded[{10 * gpu.major + gpu.minor, shared ? -1 : device}];
  if (loaded.module) return loaded;
  std::vector<std::string> texts;
  for (const FatBinary& binary : unit.code) {
    try {
      FatBinary::Code code = binary.code_for(gpu.major, gpu.minor);
      if (texts.empty() || code.architecture < loaded.architecture) loaded.architecture = code.architecture;
      texts.push_back(std::move(code.text));
    } catch (const Fault& fault) {
      if (!loaded.lacks) loaded.lacks = fault;
    }
  }
  if (texts.empty()) throw *loaded.lacks;
  loaded.module = ptx::load(texts.size() == 1 ? std::move(texts[0]) : link(std::move(texts)));
  static const bool reported = report_at_exit();
  static_cast<void>(reported);
  // What several devices share are constants that the compiler made, such as the texts of printf().
  const int owner = shared ? simt::Memory::kHost : device;
  for (const Variable& variable : variables(*loaded.module))
    if (variable.bytes > 0)
      simt::Runtime::get().memory.add_variable(owner, variable.data, variable.bytes, variable.constant);
  return loaded;
}

KernelCode Program::kernel(const void* host, int device) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(host);
  simt::require(found != kernels_.end(), cudaErrorInvalidDeviceFunction);
  const Named& named = found->second;
  return told(named.name, [&] {
    const Unit::Loaded& loaded = load(*named.unit, device);
    const Kernel* const kernel = find_kernel(*loaded.module, named.name);
    if (!kernel && loaded.lacks) throw *loaded.lacks;
    simt::require(kernel, cudaErrorInvalidDeviceFunction);
    return KernelCode{loaded.module, kernel, loaded.architecture};
  });
}

Variable Program::variable(const void* host, int device) {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(host);
  simt::require(found != variables_.end(), cudaErrorInvalidSymbol);
  const Named& named = found->second;
  return told(named.name, [&] {
    for (Variable& variable : variables(*load(*named.unit, device).module))
      if (variable.name == named.name) return std::move(variable);
    throw simt::Failure{cudaErrorInvalidSymbol};
  });
}

std::string Program::report() {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [host, named] : kernels_) text += "- R " + named.name + "\n";
  for (const auto& unit : units_) {
    for (const auto& [key, loaded] : unit->loaded) {
      const std::string architecture = simt::joined(loaded.architecture, " ");
      const std::string lines = ptx::report(*loaded.module);
      for (size_t begin = 0, end; begin < lines.size(); begin = end + 1) {
        end = std::min(lines.find('\n', begin), lines.size());
        text += architecture + lines.substr(begin, end - begin) + "\n";
      }
    }
  }
  return text;
}

void Program::forget_variables(int device) {
  const std::lock_guard lock(mutex_);
  for (const auto& unit : units_)
    std::erase_if(unit->loaded, [&](const auto& entry) { return entry.first.second == device; });
}

}  // namespace ptx
