#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/c_locale.h>
#include <rondo/nn/io/printable.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/profile/compiled_kernels.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace rondo::program {
namespace {

void remove_all(std::string& text, const std::string& part) {
  for (size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
}

}  // namespace

std::string short_kernel_name(const std::string& symbol) {
  std::string name = symbol;
  for (const char* part : {"(anonymous namespace)::", "rondo::"}) remove_all(name, part);
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (depth != 0) continue;
    if (name[i] == ' ') begin = i + 1;  // after the return type
    if (name[i] == '(') return name.substr(begin, i - begin);
  }
  return name.substr(begin);
}

CompiledKernels::CompiledKernels(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const auto text = RegularFile(path).contents<std::string>(kMostBytes);
  try {
    const CLocale of_the_parser;
    const nlohmann::json report = nlohmann::json::parse(text);
    for (const auto& [name, entries] : report.at("kernels").items()) {
      const size_t colon = name.find(": ");  // "kernels/pool/avg_pool.cu: kernel<1>"
      if (colon == std::string::npos)
        throw Error(bad_argument("--compiled is ", printable(path), ", whose kernel ", printable(name),
                                 " must be FILE: KERNEL"));
      const std::string kernel = name.substr(colon + 2);
      for (const auto& [arch, entry] : entries.items()) {
        const std::string capability = arch.substr(0, arch.find_first_not_of("0123456789"));  // "90a": 9.0
        const int count = entry.at("registers").template get<int>();
        const auto [known, fresh] = registers_.try_emplace({kernel, capability}, count);
        if (!fresh && known->second != count) known->second.reset();
      }
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(bad_argument("--compiled is ", printable(path),
                             ", must be a budget of tools/sass-report: {\"kernels\": {\"FILE: KERNEL\": "
                             "{\"90\": {\"registers\": 32}}}}"));
  }
}

std::optional<int> CompiledKernels::registers(const std::string& kernel,
                                              const std::string& capability) const {
  const auto found = registers_.find({kernel, capability});
  return found == registers_.end() ? std::nullopt : found->second;
}

}  // namespace rondo::program
