// The source lines of an instruction, from the program's debug information.
#pragma once

#include <simt/observe.h>

#include <vector>

namespace simt {

// The line of the program that has called the executor, whose own code has no debug information.
std::string line_of_caller();

// The line of the instruction before the return address `place`, then the lines of the calls that the
// compiler inlined it into. Empty if the program has no debug information there.
std::vector<SourceLine> source_lines(const void* place);

}  // namespace simt
