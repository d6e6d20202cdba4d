// Trial: one call of a solution in a process of its own, and what came of it.
#pragma once

#include <rondo/tools/rondo/judge/case.h>
#include <simt/counted_operations.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

// What the executor found in the call (simt/check.h), or a fault of a kernel.
enum class FindingKind : uint8_t { race, unwritten_read, out_of_range, deadlock, other };
const char* name_of(FindingKind kind);

struct TrialFinding {
  FindingKind kind = FindingKind::other;
  std::string text;  // lines, without "simt: "
};

struct WrongElement {
  std::string array;
  int64_t index = 0;
  int device = -1;  // -1: the array is on one device
  double got = 0, wanted = 0;
  bool written = true;           // false: it has the bytes of memory that nobody wrote
  int64_t wrong = 0, count = 0;  // elements of the array
};

enum class TrialEnd : uint8_t {
  right,
  wrong,          // a result is wrong
  changed_input,  // an input has other values than before
  cuda_error,     // a launch was refused, or a device has failed
  crashed,        // a signal or an exit code, before the results or after them
  time_limit
};

struct Trial {
  TrialEnd end = TrialEnd::right;
  std::optional<WrongElement> wrong;
  std::string error;              // of cuda_error and crashed
  bool unchecked_launch = false;  // of cuda_error: a launch was refused, and the solution did not notice
  std::string mistake;            // the hint of a known mistake that has this answer
  std::string mistake_section;
  std::vector<TrialFinding> findings;
  std::optional<simt::ProgramProfile> counts;
  std::string output;  // what the solution printed, its beginning
};

struct TrialOptions {
  std::filesystem::path program,
      folder;  // the folder is for files of the trial; the solution runs in folder/run
  std::map<std::string, std::string> environment;
  double seconds = 10;
  int64_t memory_bytes = 0;
  bool counts = false;
  int calls = 1;  // of the solution in the process, each with the same arguments
};

// Throws an Error if the program can't be started.
Trial run_trial(const Case& of, const TrialOptions& options);

}  // namespace rondo::program
