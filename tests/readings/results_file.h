// The results of one program: named arrays, in a file. The same program of another build writes others, and
// readings_test.cpp compares them.
#pragma once

#include <rondo/tests/kernels/operations/output.h>

#include <filesystem>
#include <map>
#include <string>

namespace rondo::test {

// Appends a result to the file. Throws std::runtime_error if it cannot be written.
void append_result(const std::filesystem::path& file, const std::string& name, const Output& output);

// Throws std::runtime_error if the file is missing, cut, or has a name twice.
std::map<std::string, Output> read_results(const std::filesystem::path& file);

}  // namespace rondo::test
