// The interface: modules, kernels, launches.
#include "interpreter.h"

#include <algorithm>

#include "block.h"
#include "decoder.h"
#include "heap.h"
#include "module.h"

namespace ptx {
Kernel::Kernel() = default;
Kernel::~Kernel() = default;

std::shared_ptr<Module> load(std::string text) { return std::make_shared<Module>(std::move(text)); }

const Kernel* find_kernel(Module& module, std::string_view name) {
  const std::lock_guard<std::mutex> lock(module.mutex);
  if (const auto found = module.kernels.find(name); found != module.kernels.end()) return found->second.get();
  const auto text = module.entries.find(std::string(name));
  if (text == module.entries.end()) return nullptr;
  auto kernel = std::make_unique<Kernel>();
  kernel->name = name;
  kernel->module = &module;
  kernel->code = std::make_unique<Code>();
  Decoder(*kernel, module, *kernel->code).decode(text->second);
  return module.kernels.emplace(name, std::move(kernel)).first->second.get();
}

std::vector<std::string> kernel_names(const Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, text] : module.entries) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Variable> variables(Module& module) {
  std::vector<Variable> all;
  for (auto& [name, variable] : module.variables) all.push_back(variable);
  return all;
}

LaunchState::LaunchState(const Launch& of)
    : launch(of),
      kernel(of.kernel),
      code(of.kernel->code.get()),
      shape(of.shape),
      parameters(reinterpret_cast<uint64_t>(of.parameters)),
      workspace(reinterpret_cast<uint64_t>(of.cooperative)),
      races(!of.checks.races ? nullptr
            : of.races       ? of.races
                             : make_race_log()) {
  const uint32_t alignment = static_cast<uint32_t>(kernel->module->dynamic_alignment);
  dynamic_shared_at = (static_cast<uint32_t>(kernel->static_shared) + alignment - 1) / alignment * alignment;
}

std::shared_ptr<Heap> make_heap(size_t bytes) { return std::make_shared<Heap>(bytes); }

std::shared_ptr<RaceLog> make_race_log() { return std::make_shared<RaceLog>(); }

uint64_t cluster_count(const Launch& launch) {
  const Shape& s = launch.shape;
  return uint64_t{s.grid[0]} * s.grid[1] * s.grid[2] / (s.cluster[0] * s.cluster[1] * s.cluster[2]);
}

}  // namespace ptx
