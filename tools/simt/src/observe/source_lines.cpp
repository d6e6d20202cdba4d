#include "source_lines.h"

#include <backtrace.h>
#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

namespace simt {
namespace {

std::string demangled(const char* symbol) {
  if (!symbol) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : symbol;
}

void ignore_error(void*, const char*, int) {}

int add_line(void* lines, uintptr_t, const char* file, int line, const char* function) {
  if (file) static_cast<std::vector<SourceLine>*>(lines)->push_back({file, line, demangled(function)});
  return 0;
}

}  // namespace

std::vector<SourceLine> source_lines(const void* place) {
  static std::mutex mutex;
  static auto& known = *new std::map<const void*, std::vector<SourceLine>>;
  static backtrace_state* const state =
      backtrace_create_state(nullptr, /*threaded=*/1, ignore_error, nullptr);
  std::lock_guard lock(mutex);
  const auto [entry, fresh] = known.try_emplace(place);
  // The return address may belong to the next line already.
  if (fresh && state)
    backtrace_pcinfo(state, reinterpret_cast<uintptr_t>(place) - 1, add_line, ignore_error, &entry->second);
  return entry->second;
}

}  // namespace simt
