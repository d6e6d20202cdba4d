// The file of PTX_REPORT.
#pragma once

#include <string>

namespace ptx {

// Adds lines of Program::report() to those that the file has: each kernel and form stays one line, with the
// sum of its counts. Processes may do so at the same time. False: the file can't be read or written.
bool add_to_report(const std::string& file, const std::string& lines);

}  // namespace ptx
