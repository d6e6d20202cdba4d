// Verdict: what the judge says about a solution.
#pragma once

#include <rondo/tools/rondo/judge/problem.h>
#include <rondo/tools/rondo/judge/trial.h>

#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

enum class Judgement : uint8_t { right, wrong, faulty, time_limit, not_compiled };
const char* name_of(Judgement judgement);  // faulty: right results, with a race or another finding

// A trial that failed.
struct FailedTrial {
  Sizes sizes;
  uint64_t seed;
  Trial trial;
  bool second_call = false;  // the first call was right
};

// The counts of a solution at Problem::counted.
struct Measure {
  double seconds = 0;  // by the counts (timeline.h), and of the problem's operations at the peak
  std::string bound;   // the resource that takes the longest in the longest kernel
  double launches = 0, bytes = 0, block_bytes = 0, sectors = 0, wavefronts = 0, barriers = 0, link_bytes = 0;
};
Measure measure_of(const simt::ProgramProfile& profile, const Case& of, const simt::GpuProperties& gpu);

struct Hint {
  std::string text;
  std::string section;  // of docs/mistakes.md; empty: of none
};

struct Comparison {
  Measure yours, slow, best;
  double bound_seconds = 0;
  int stars = 0;                         // 1 to 3; 0: the GPU did not compute it
  std::string missing;                   // what three stars need besides the time
  std::optional<uint64_t> pinned_bytes;  // of the smallest array in pinned memory; nothing: there is none
};

struct Verdict {
  const Problem* problem = nullptr;
  const simt::GpuProperties* gpu = nullptr;
  std::string file;
  Judgement judgement = Judgement::right;
  int trials = 0, seeds = 0;
  std::optional<FailedTrial> failure;
  std::vector<TrialFinding> findings;
  std::optional<Sizes> sizes_of_findings;
  std::optional<simt::ProgramProfile> profile;  // with the accesses of source lines
  std::optional<Comparison> comparison;
  std::vector<Hint> hints;
};

// The hints that follow from the rest of the verdict.
std::vector<Hint> hints_of(const Verdict& verdict);

// Counts without source lines: one access for each space of memory.
simt::ProgramProfile summed(simt::ProgramProfile profile);

std::string microseconds(double seconds);  // "11.4 us", "1,234 us"
std::string stars_text(int stars);         // of three
void show_verdict(const Verdict& verdict, std::ostream& out);
std::string verdict_json(const Verdict& verdict);
std::string verdict_svg(const Verdict& verdict);

}  // namespace rondo::program
