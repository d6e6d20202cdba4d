// The command `rondo profile`. profile.h has its parts, which need the CPU executor.
#pragma once

#include <rondo/tools/rondo/profile/arguments.h>
#include <rondo/tools/rondo/support/terminal.h>

#include <ostream>

namespace rondo::program {

// Runs, and writes all that was asked for. Throws rondo::Error.
void show_profile(const ProfileArguments& arguments, std::ostream& out, const Terminal& terminal);

}  // namespace rondo::program
