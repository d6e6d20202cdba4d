// Names of kernels in messages, from what nvcc's host code has registered.
#include "kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "program.h"
#include "text.h"

namespace simt {
namespace {

// nvcc gives what is local to a file a namespace of its own in PTX: "_INTERNAL_1f2e3d4c_7_name_cu_5a6b7c8d".
std::string without_file_namespace(std::string name) {
  constexpr std::string_view kBegin = "_INTERNAL_";
  for (size_t at = 0; (at = name.find(kBegin, at)) != std::string::npos;) {
    const size_t end = name.find("::", at);
    if (end == std::string::npos) break;
    name.erase(at, end + 2 - at);
  }
  return name;
}

}  // namespace

std::string kernel_name(const void* kernel) {
  const char* const symbol = ptx::Program::get().kernel_name(kernel);
  if (!symbol) {
    TextStream text;
    text << "at " << kernel;
    return text.str();
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 ? without_file_namespace(name.get()) : symbol;
}

}  // namespace simt
