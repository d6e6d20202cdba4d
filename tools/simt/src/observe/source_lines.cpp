#include "source_lines.h"

#include <backtrace.h>
#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "findings.h"

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

backtrace_state* state_of_program() {
  static backtrace_state* const state =
      backtrace_create_state(nullptr, /*threaded=*/1, ignore_error, nullptr);
  return state;
}

int add_line(void* lines, uintptr_t, const char* file, int line, const char* function) {
  if (file) static_cast<std::vector<SourceLine>*>(lines)->push_back({file, line, demangled(function)});
  return 0;
}

}  // namespace

std::vector<SourceLine> source_lines(const void* place) {
  static std::mutex mutex;
  static auto& known = *new std::map<const void*, std::vector<SourceLine>>;
  std::lock_guard lock(mutex);
  const auto [entry, fresh] = known.try_emplace(place);
  // The return address may belong to the next line already.
  if (backtrace_state* const state = fresh ? state_of_program() : nullptr)
    backtrace_pcinfo(state, reinterpret_cast<uintptr_t>(place) - 1, add_line, ignore_error, &entry->second);
  return entry->second;
}

std::string line_of_caller() {
  std::string found;
  if (backtrace_state* const state = state_of_program())
    backtrace_simple(
        state, /*skip=*/0,
        [](void* to, uintptr_t address) {
          const std::vector<SourceLine> lines = source_lines(reinterpret_cast<const void*>(address + 1));
          if (lines.empty()) return 0;
          *static_cast<std::string*>(to) = text_of(lines);
          return 1;
        },
        ignore_error, &found);
  return found;
}

}  // namespace simt
