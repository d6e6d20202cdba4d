// Runs commands, alone and in several processes, for tests of programs that the MPI launcher starts.
#pragma once

#include <gtest/gtest.h>

#include <rondo/collectives/across_hosts/mpi_process_group.h>

#include <sys/wait.h>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace rondo::test {

struct Output {
  int exit_code;
  std::string text;  // standard output and error
  double seconds;
};

inline Output run(const std::string& command) {
  const auto begin = std::chrono::steady_clock::now();
  Output output{-1, "", 0};
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return output;
  std::array<char, 4096> part = {};
  while (const size_t read = std::fread(part.data(), 1, part.size(), pipe))
    output.text.append(part.data(), read);
  const int status = pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  output.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return output;
}

inline bool has_launcher() {
  return has_mpi() && run("command -v " MPIEXEC " && " MPIEXEC " --version").exit_code == 0;
}

// Settings for a machine with fewer cores than processes, and for the user root. MPI implementations other
// than Open MPI ignore them.
inline constexpr const char* kSettings =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "OMPI_MCA_btl_vader_single_copy_mechanism=none SIMT_WORKERS=1 ";

inline std::string launch(int processes, const std::string& command, int timeout_ms = 20'000) {
  return concat(kSettings, "TIMEOUT_MS=", timeout_ms,
                " ASAN_OPTIONS=detect_leaks=0 timeout 100 " MPIEXEC " -np ", processes, " ", command);
}

#define SKIP_WITHOUT_MPI() \
  if (!has_launcher()) GTEST_SKIP() << "no MPI, or no " MPIEXEC " that runs"

inline void expect_contains(const Output& output, const std::string& what) {
  EXPECT_NE(output.text.find(what), std::string::npos) << "'" << what << "' is not in:\n" << output.text;
}

}  // namespace rondo::test
