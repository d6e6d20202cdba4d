#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/cuda/program_profile.h>
#include <rondo/tools/rondo/judge/problem.h>
#include <rondo/tools/rondo/support/suggestion.h>

#include <algorithm>
#include <stdexcept>

#include "rondo_judge_problems.h"

namespace rondo::program {

Case Problem::draw(const Sizes& of, uint64_t seed) const {
  CaseRandom random(seed);
  Case result;
  fill(of, random, result);
  return result;
}

bool Problem::has_several_devices() const {
  for (const auto& [name, value] : counted.all())
    if (name == "devices") return value > 1;
  return false;
}

double Problem::least_seconds(const Case& of, const simt::GpuProperties& gpu) const {
  if (bound) return bound(counted, gpu);
  return std::max(of.least_bytes() / (gpu.dram_gb_s * 1e9), of.flops / (gpu.fp32_tflops() * 1e12));
}

std::span<const Problem> problems() {
  static const std::vector<Problem> all = all_problems();
  return all;
}

const Problem& problem_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Problem& problem : problems()) {
    if (problem.name == name) return problem;
    names.emplace_back(problem.name);
  }
  const std::string similar = suggestion(name, names);
  throw Error(bad_argument("there is no problem '", name, "'",
                           similar.empty() ? "" : concat(", did you mean '", similar, "'?"),
                           "; rondo judge list shows all"));
}

const ProblemFiles& files_of(const Problem& problem) {
  for (const ProblemFiles& files : kProblemFiles)
    if (std::string_view(files.name) == problem.name) return files;
  throw std::logic_error(concat("the problem ", problem.name, " has no files"));
}

ReferenceCounts reference_counts(const Problem& problem) {
  const ProblemFiles& files = files_of(problem);
  const std::optional<simt::ProgramProfile> slow = read_program_profile(files.slow),
                                            best = read_program_profile(files.best);
  if (!slow || !best) throw std::logic_error(concat("the counts of ", problem.name, " are not complete"));
  return {*slow, *best};
}

}  // namespace rondo::program
