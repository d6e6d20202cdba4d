// Options that `rondo cuda` has only for command lines of nvcc: they have no meaning for the executor, or are
// other names of its own options.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <string>
#include <vector>

namespace rondo::program {

// Adds those without a meaning. Their values are checked.
void add_nvcc_options(const Command& cuda);

// Replaces nvcc's names of options by those of the options of `rondo cuda`: "-arch=sm_90" becomes
// "--gpu-architecture", "sm_90". Throws a bad_argument Error for steps of nvcc that there are not here.
void replace_nvcc_names(std::vector<std::string>& words);

// Whether -lNAME is a library of the CUDA toolkit whose functions are in the executor.
bool executor_has_library(const std::string& name);

}  // namespace rondo::program
