// The list of operations declared in the headers of kernels/. Tests of all operations use it to find gaps.
#pragma once

#include <rondo/kernels/gemm/gemm_variants.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace rondo::test {

// The function name of a variant: gemm_01_naive, ..., gemm.
inline std::string function_of(const GemmVariant& variant) {
  const std::string id = variant.id;
  return id == "gemm" ? id : "gemm_" + id;
}

// The names of all functions that return a Status, and of the steps of the GEMM ladder. Skips the headers of
// core/ and runtime/ and internal headers, which declare no operations.
inline std::set<std::string> declared_operations() {
  const std::set<std::string> internal = {"conv_geometry.h", "few_channels.h",   "implicit_gemm.h",
                                          "winograd.h",      "gemm_arguments.h", "gemm_06_pipelined.h",
                                          "gemm_config.h"};
  const std::regex function(R"(\bStatus\s+(\w+)\s*\()"), rung(R"(RONDO_GEMM_RUNG\((gemm_\w+)\))");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RONDO_KERNELS_FOLDER)) {
    const std::filesystem::path& path = entry.path();
    const std::filesystem::path folder = path.parent_path().filename();
    if (path.extension() != ".h" || folder == "core" || folder == "runtime") continue;
    if (internal.contains(path.filename())) continue;
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (const std::regex& pattern : {function, rung})
      for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
        names.insert((*match)[1]);
  }
  names.erase("name");  // the parameter of the macro that declares the steps
  return names;
}

}  // namespace rondo::test
