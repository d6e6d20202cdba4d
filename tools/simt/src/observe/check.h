// The start of a check of the whole program (SIMT_CHECK=1).
#pragma once

namespace simt {

struct Runtime;

// Called once, before the first CUDA call of the program continues.
void check_whole_program(Runtime& runtime);

}  // namespace simt
