#include "whole_program.h"

#include <simt/check.h>
#include <simt/settings.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../host/runtime.h"
#include "../host/unread_errors.h"
#include "source_lines.h"

namespace simt {
namespace {

void write_counts() {
  const std::string& path = settings().count_file;
  const std::string text = json(counts_of_whole_program());
  std::FILE* const file = std::fopen(path.c_str(), "w");
  const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (!file || std::fclose(file) != 0 || !written)
    std::fprintf(stderr, "simt: the file of SIMT_COUNT=%s could not be written\n", path.c_str());
}

// With SIMT_BOUNDS=1 every fault is one. With SIMT_CHECK=1 alone those of programs with <<<>>> are: tests of
// Rondo, which have none, cause faults on purpose.
size_t faults_that_are_findings() { return settings().bounds ? faults_so_far() : translated_faults_so_far(); }

// Instead of the remaining exit handlers, because nothing else changes the exit code of a process that ends.
void end_with_findings() {
  const size_t findings = findings_of_whole_program() + bounds_findings() + faults_that_are_findings() +
                          report_unread_launch_errors();
  if (findings == 0) return;
  const char* const by = !settings().bounds ? "SIMT_CHECK=1"
                         : settings().check ? "SIMT_CHECK=1 and SIMT_BOUNDS=1"
                                            : "SIMT_BOUNDS=1";
  std::fprintf(stderr, "simt: %zu finding%s of %s\n", findings, findings == 1 ? "" : "s", by);
  std::fflush(nullptr);
  std::_Exit(kExitCodeOfFindings);
}

}  // namespace

void observe_whole_program(Runtime& runtime) {
  const Settings& wanted = settings();
  line_of_call = line_of_caller;
  if (wanted.bounds) start_bounds(runtime);
  if (wanted.check) check_whole_program(runtime);
  if (!wanted.count_file.empty()) count_whole_program(runtime);
  static const pid_t owner = getpid();
  std::atexit([] {
    if (getpid() != owner) return;
    if (!settings().count_file.empty()) write_counts();
    if (settings().check || settings().bounds) end_with_findings();
  });
}

}  // namespace simt
