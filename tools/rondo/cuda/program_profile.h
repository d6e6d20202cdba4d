// The counts that a program of the executor wrote (SIMT_COUNT, simt::json).
#pragma once

#include <simt/counted_operations.h>

#include <optional>
#include <string>

namespace rondo::program {

// Nothing if the text is not complete, or has places that do not exist.
std::optional<simt::ProgramProfile> read_program_profile(const std::string& text);

}  // namespace rondo::program
