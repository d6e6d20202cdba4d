#include "statistics.h"

#include <map>
#include <mutex>
#include <unordered_map>

#include "fault.h"
#include "instruction.h"
#include "module.h"

namespace ptx {
namespace {

struct Forms {
  std::mutex mutex;
  std::unordered_map<std::string, int> numbers;
  std::vector<std::string> names;
};
Forms& forms() {
  static Forms& all = *new Forms;
  return all;
}

}  // namespace

int form_number(std::string_view opcode) {
  Forms& all = forms();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto [found, fresh] =
      all.numbers.try_emplace(std::string(opcode), static_cast<int>(all.names.size()));
  if (fresh) all.names.emplace_back(opcode);
  return found->second;
}

void count_launch(const Kernel& kernel) { ++kernel.code->launches; }

void add_counts(const Kernel& kernel, const std::vector<uint64_t>& counts) {
  const Code& code = *kernel.code;
  const std::lock_guard<std::mutex> lock(kernel.module->mutex);
  code.executed.resize(counts.size());
  for (size_t n = 0; n < counts.size(); ++n) code.executed[n] += counts[n];
}

std::string report(const Module& module) {
  std::string text;
  std::map<std::string, uint64_t> executed;
  Forms& all = forms();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto& [name, kernel] : module.kernels) {
    const Code& code = *kernel->code;
    if (code.launches != 0) text += concat("K ", code.launches.load(), " ", name, "\n");
    for (size_t n = 0; n + 1 < code.sources.size(); ++n) {  // the last is the end of the body
      uint64_t& count = executed[all.names[static_cast<size_t>(code.sources[n].form)]];
      if (!code.executed.empty()) count += code.executed[n];
    }
  }
  for (const auto& [form, count] : executed) text += concat("F ", count, " ", form, "\n");
  return text;
}

}  // namespace ptx
