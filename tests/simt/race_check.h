// The fixture for tests of the race detector. A test's file has kernels that are wrong on purpose, each with
// a correct version beside it: the race detector must find exactly the planted mistake, at its lines, and
// nothing in the correct version. A line is named by the comment at its end.
#pragma once

#include <simt/check.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "host_support.h"

namespace race_check {

using namespace simt_test;
using simt::AccessSpace;
using simt::Finding;
using simt::Problem;

// The file of the running test.
inline std::filesystem::path source_file() {
  const std::string file = testing::UnitTest::GetInstance()->current_test_info()->file();
  return std::filesystem::path(RACE_CHECK_FOLDER) / std::filesystem::path(file).filename();
}

inline int line_of(const std::string& mark) {
  std::ifstream source(source_file());
  std::string line;
  for (int number = 1; std::getline(source, line); ++number)
    if (line.ends_with("// " + mark)) return number;
  ADD_FAILURE() << "no line ends with the comment " << mark;
  return 0;
}

template <class T>
T& shared(size_t index) {
  return static_cast<T*>(simt::shared_memory())[index];
}
inline void use(int value) { asm volatile("" : : "r"(value)); }

inline int launches = 0;  // of this process

template <class... Parameters, class... Arguments>
void launch(dim3 grid, dim3 block, size_t shared, cudaStream_t stream, void (*kernel)(Parameters...),
            Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  ASSERT_EQ(cudaLaunchKernelEx(&config, kernel, arguments...), cudaSuccess);
  ++launches;
}

inline void launch_graph(cudaGraphExec_t graph, cudaStream_t stream) {
  ASSERT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
  ++launches;
}

class RaceCheck : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
    NOT_UNDER_CHECK();
  }

  template <class Work>
  static std::vector<Finding> findings_of(Work work) {
    EXPECT_EQ(simt::start_check(), cudaSuccess);
    work();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return simt::stop_check();
  }
  // Nothing is found in `work`, which launches a kernel.
  template <class Work>
  static void expect_silent(Work work) {
    const int before = launches;
    for (const Finding& finding : findings_of(work)) ADD_FAILURE() << finding.text;
    EXPECT_GT(launches, before) << "no kernel was launched";
  }
  // One finding, in kernels, whose accesses are at these lines, in any order. `one` may be empty.
  template <class Work>
  static Finding expect_one(Problem problem, const std::string& one, const std::string& other, Work work) {
    const std::vector<Finding> findings = findings_of(work);
    EXPECT_EQ(findings.size(), 1u);
    for (size_t i = 1; i < findings.size(); ++i) ADD_FAILURE() << findings[i].text;
    if (findings.empty()) return {};
    const Finding& finding = findings.front();
    EXPECT_EQ(finding.problem, problem) << finding.text;
    EXPECT_EQ(finding.earlier.has_value(), !one.empty()) << finding.text;
    std::multiset<int> lines = {line(finding.access)}, expected = {line_of(other)};
    if (finding.earlier) lines.insert(line(*finding.earlier));
    if (!one.empty()) expected.insert(line_of(one));
    EXPECT_EQ(lines, expected) << finding.text;
    return finding;
  }
  template <class Work>
  static Finding expect_race(const std::string& one, const std::string& other, Work work) {
    return expect_one(Problem::race, one, other, work);
  }
  // The line in the test's file, which is not the innermost one if a helper was inlined.
  static int line(const simt::CheckedAccess& access) {
    for (const simt::SourceLine& place : access.inlined)
      if (std::filesystem::path(place.file).filename() == source_file().filename()) return place.line;
    return 0;
  }
  static bool says(const Finding& finding, const std::string& words) {
    return finding.text.find(words) != std::string::npos;
  }
};

}  // namespace race_check
