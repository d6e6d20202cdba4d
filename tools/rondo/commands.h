// The command line of `rondo`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

namespace rondo::program {

// Throws a bad_argument Error with a one-line message that names the value and the valid values.
ParsedCommand parse_command_line(int argc, const char* const* argv);

}  // namespace rondo::program
