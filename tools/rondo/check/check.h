// `rondo check COMMAND...`: runs a command of this program with the race detector (simt/check.h).
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <string>
#include <vector>

namespace rondo::program {

// Starts the program again with `command`, and SIMT_CHECK=1 in its environment; does not return. Throws
// rondo::Error; a bad_argument if this build cannot observe kernels.
[[noreturn]] void check_command(const std::vector<std::string>& command);

void add_check(Program& program);

}  // namespace rondo::program
