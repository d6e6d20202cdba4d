#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/judge/judge.h>

namespace rondo::program {
namespace {

[[noreturn]] void refuse() {
  throw Error(
      bad_argument("this build is for GPUs, and the judge counts on the CPU executor; cmake --preset cpu "
                   "makes the one that has it"));
}

}  // namespace

void list_problems(std::ostream&) { refuse(); }
void start_problem(const JudgeStartArguments&, std::ostream&) { refuse(); }
void show_problem(const JudgeShowArguments&, std::ostream&) { refuse(); }
int check_solution(const JudgeCheckArguments&, std::ostream&) { refuse(); }

}  // namespace rondo::program
