// What is observed from the first CUDA call of a program to its end.
#pragma once

#include <simt/counted_operations.h>

#include <cstddef>

namespace simt {

struct Runtime;

void check_whole_program(Runtime& runtime);  // in check.cpp
size_t findings_of_whole_program();
void count_whole_program(Runtime& runtime);  // in profile.cpp
ProgramProfile counts_of_whole_program();
void start_bounds(Runtime& runtime);  // in bounds.cpp
size_t bounds_findings();             // of the host; those of kernels are faults

}  // namespace simt
