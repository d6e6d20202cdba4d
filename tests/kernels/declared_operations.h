// The list of operations declared in the headers of kernels/. Tests of all operations use it to find gaps.
#pragma once

#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace rondo::test {

// The function name of a variant: gemm_01_naive, ..., gemm.
inline std::string function_of(const GemmVariant& variant) {
  const std::string id = variant.id;
  return id == "gemm" ? id : "gemm_" + id;
}

// The products by tensor cores of T matrices: the rungs of their ladder, and gemm().
template <class T>
struct TensorProduct {
  std::string name;  // "gemm_tc_01_fragments"
  Math math;
  TensorRung::Run<T> run;
  bool uses_wgmma;
};
template <class T>
std::vector<TensorProduct<T>> tensor_products() {
  constexpr Math math = std::is_same_v<T, float> ? Math::tf32 : Math::fp32;
  std::vector<TensorProduct<T>> all;
  if (!check_math("", math).ok() || !check_factor_type("", dtype_of<T>).ok()) return all;
  for (const TensorRung& rung : tensor_rungs()) {
    TensorRung::Run<T> run = nullptr;
    if constexpr (std::is_same_v<T, float>)
      run = rung.tf32;
    else if constexpr (std::is_same_v<T, __half>)
      run = rung.fp16;
    else
      run = rung.bf16;
    if (!rung.uses_wgmma || check_wgmma("").ok())
      all.push_back({concat("gemm_", rung.id), math, run, rung.uses_wgmma});
  }
  all.push_back({"gemm", math, gemm, false});
  return all;
}

// The names of all functions that return a Status, and of the steps of the GEMM ladder. Skips the headers of
// core/ and runtime/ and internal headers, which declare no operations, and the steps that the device lacks.
inline std::set<std::string> declared_operations() {
  const std::set<std::string> internal = {
      "augmentation.h",   "conv_checks.h",  "device_properties.h", "few_channels.h",  "fp32_rung.h",
      "gemm_arguments.h", "gemm_fma.h",     "gemm_mma.h",          "gemm_plan.h",     "gemm_wgmma.h",
      "gemm_with_plan.h", "grouped.h",      "image_vectors.h",     "implicit_gemm.h", "moments.h",
      "pipelined_rung.h", "planned_conv.h", "tensor_rung.h",       "tile_row.h",      "transposed_copy.h",
      "wgmma_conv.h",     "winograd.h"};
  const std::regex function(R"(\bStatus\s+(\w+)\s*\()"), rung(R"(RONDO_(?:GEMM|TENSOR)_RUNG\((gemm_\w+)\))");
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
  // What the templates of the operations call.
  std::erase_if(
      names, [](const std::string& name) { return name == "checked_gemm" || name.ends_with("_with_plan"); });
  for (const TensorRung& step : tensor_rungs())
    if (step.uses_wgmma && !check_wgmma("").ok()) names.erase(concat("gemm_", step.id));
  return names;
}

}  // namespace rondo::test
