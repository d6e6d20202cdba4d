// Errors of launches by <<<>>>, which return nothing: a program that never asks for them goes on with wrong
// values.
#pragma once

#include <cstddef>

namespace simt {

// The host thread has asked for its last error.
void launch_errors_were_read();
// Prints those that no thread has asked for, and returns their number.
size_t report_unread_launch_errors();

}  // namespace simt
