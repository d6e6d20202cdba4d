// What is observed from the first CUDA call of a program to its end.
#pragma once

#include <simt/observe.h>

#include <cstddef>
#include <string>
#include <vector>

namespace simt {

struct Runtime;

void check_whole_program(Runtime& runtime);  // in check.cpp
size_t findings_of_whole_program();
void count_whole_program();  // in profile.cpp
std::vector<KernelProfile> counts_of_whole_program();
void start_bounds(Runtime& runtime);  // in bounds.cpp
size_t bounds_findings();             // of the host; those of kernels are faults

// As JSON: an array of kernels, with the names of KernelProfile and AccessCounts.
std::string json(const std::vector<KernelProfile>& profiles);

}  // namespace simt
