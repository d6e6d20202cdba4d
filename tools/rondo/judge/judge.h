// `rondo judge`: problems for students of CUDA, and the judge of their solutions.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace rondo::program {

struct JudgeStartArguments {
  std::string name, folder = ".";
};
struct JudgeShowArguments {
  std::string name;
  int hints = 0;
};
struct JudgeCheckArguments {
  std::string file, problem, gpu = "a100", json, svg, compiler = "g++";
  uint64_t seed = 1;
  int seeds = 3;
  double seconds = 10;
  int64_t memory_bytes = int64_t{2} << 30;
};

void list_problems(std::ostream& out);
// Writes NAME.cu, NAME.md and NAME.svg. Throws a bad_argument Error, and writes nothing, if one of them
// exists.
void start_problem(const JudgeStartArguments& arguments, std::ostream& out);
// The page as text, with the first hints.
void show_problem(const JudgeShowArguments& arguments, std::ostream& out);
// Returns the exit code: 0 if the solution is right, else 1. Throws an Error if it can't be judged.
int check_solution(const JudgeCheckArguments& arguments, std::ostream& out);

}  // namespace rondo::program
