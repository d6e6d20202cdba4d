// For the programs whose results are compared.
#pragma once

#include <gtest/gtest.h>

#include <rondo/tests/kernels/operations/operands.h>
#include <rondo/tests/readings/results_file.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace rondo::test {

// RONDO_DRAWS: the number of draws of each kind. Without it, enough for a quick run.
inline int draws() {
  const char* const text = std::getenv("RONDO_DRAWS");
  return text ? std::atoi(text) : 12;
}

// Appends a result to the file RONDO_RESULTS.
inline void record(const std::string& name, const Output& output) {
  const char* const file = std::getenv("RONDO_RESULTS");
  ASSERT_NE(file, nullptr) << "RONDO_RESULTS is the file for the results";
  append_result(file, name, output);
}

// The same for long arrays: of each 1024 elements, a hash of the bits.
template <class T>
void record_hashes(const std::string& name, const std::vector<T>& values) {
  std::vector<uint64_t> hashes;
  for (size_t begin = 0; begin < values.size(); begin += 1024) {
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&values[begin]);
    for (size_t i = 0; i < std::min<size_t>(1024, values.size() - begin) * sizeof(T); ++i)
      hash = (hash ^ bytes[i]) * 1099511628211u;
    hashes.push_back(hash);
  }
  record(name, output_of(hashes));
}

// Runs an operation on new operands, and records its outputs.
template <class Run>
void record_run(const std::string& name, Run&& run, int64_t offset = 0) {
  SCOPED_TRACE(name);
  Operands operands(offset, -1, 0, Values::normal);
  ASSERT_TRUE(ok(run(operands)));
  const std::vector<Output> outputs = operands.outputs();
  ASSERT_FALSE(outputs.empty());
  for (size_t i = 0; i < outputs.size(); ++i) record(concat(name, ", output ", i), outputs[i]);
}

}  // namespace rondo::test
