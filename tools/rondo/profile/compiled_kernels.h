// The registers of compiled kernels, from a budget of tools/sass-report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace rondo::program {

// A kernel's name as the budget has it, from a demangled symbol: without namespaces, return type and
// parameters.
std::string short_kernel_name(const std::string& symbol);

class CompiledKernels {
 public:
  CompiledKernels() = default;
  // Throws rondo::Error if the file cannot be read.
  explicit CompiledKernels(const std::string& path);

  // Registers per thread on compute capability `capability` ("90"). Nothing if the budget does not have the
  // kernel, or has several with this name that differ.
  std::optional<int> registers(const std::string& kernel, const std::string& capability) const;

 private:
  std::map<std::pair<std::string, std::string>, std::optional<int>> registers_;
};

}  // namespace rondo::program
