// Errors that the checks report: of launches by <<<>>>, which return nothing, so that a program that never
// asks for them goes on with wrong values; and the lines of other calls that failed.
#pragma once

#include <cstddef>
#include <string>

namespace simt {

// "main.cu:7 (main)": the line that has called the executor, in a build that observes kernels. Empty: it is
// not known.
inline std::string (*line_of_call)() = nullptr;

// The host thread has asked for its last error.
void launch_errors_were_read();
// Prints those that no thread has asked for, and returns their number.
size_t report_unread_launch_errors();

}  // namespace simt
