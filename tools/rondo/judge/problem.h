// Problem: a function for a student to write, and how it is judged.
#pragma once

#include <rondo/tools/rondo/judge/case.h>
#include <simt/counted_operations.h>
#include <simt/gpus.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::program {

struct Problem {
  const char* name;         // of the problem, and of the function
  const char* title;        // "Transposition"
  const char* idea;         // what it teaches, in a few words
  const char* declaration;  // "void transpose(const float* in, float* out, int rows, int columns)"

  std::vector<Sizes> sizes;  // of right and wrong, from small to large
  Sizes counted;             // of the counts
  // Draws the arguments of a call, and computes the results in double.
  void (*fill)(const Sizes& sizes, CaseRandom& random, Case& to);
  // The shortest time at `counted` that the problem itself allows; without it, that of the case's bytes and
  // operations.
  double (*bound)(const Sizes& sizes, const simt::GpuProperties& gpu) = nullptr;
  // What a solution with three stars must use; a sentence if it does not, else empty.
  std::string (*missing)(const simt::ProgramProfile& profile) = nullptr;

  // `of` has the sizes `counted`.
  double least_seconds(const Case& of, const simt::GpuProperties& gpu) const;
  bool has_several_devices() const;
  Case draw(const Sizes& of, uint64_t seed) const;
};

// The files of a problem (problems/NAME).
struct ProblemFiles {
  const char* name;
  const char* page;     // NAME.md
  const char* picture;  // NAME.svg
  const char* starter;  // NAME.cu
  const char* slow;     // slow.json: the counts of a slow solution at Problem::counted
  const char* best;     // best.json: of the best known solution
};

// In the order of a course.
std::span<const Problem> problems();
// A name that is unknown is a bad_argument Error.
const Problem& problem_named(const std::string& name);
const ProblemFiles& files_of(const Problem& problem);

struct ReferenceCounts {
  simt::ProgramProfile slow, best;
};
ReferenceCounts reference_counts(const Problem& problem);

}  // namespace rondo::program
