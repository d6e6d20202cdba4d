#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/check/check.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace rondo::program {
namespace {

// The race detector starts with the first CUDA call of a process, and checks all of it.
[[noreturn]] void run_again(const std::vector<std::string>& command) {
  setenv("SIMT_CHECK", "1", /*overwrite=*/1);
  std::vector<std::string> words = command;
  words.insert(words.begin(), "rondo");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  throw Error(Status(StatusCode::out_of_resources,
                     concat("rondo could not be started again: ", std::strerror(errno))));
}

}  // namespace

void check_command(const std::vector<std::string>& command) {
  if (command.empty())
    throw Error(bad_argument("no command to check was named: rondo check allreduce --devices 2 -e 64K"));
  if (command.front() == "profile")
    throw Error(bad_argument(
        "'profile' counts accesses, and cannot be checked at the same time: check the command that it "
        "profiles"));
#ifdef SIMT_OBSERVE
  run_again(command);
#else
  static_cast<void>(run_again);
  throw Error(
      bad_argument("this build cannot check kernels: in Rondo's source folder, cmake --preset observe && "
                   "cmake --build --preset observe --target rondo makes build/observe/rondo, which can; on a "
                   "GPU, use compute-sanitizer"));
#endif
}

void add_check(Program& program) {
  using Words = std::vector<std::string>;  // the command line that is checked
  program.add<Words>(
      "check", "Run a command and check its kernels: rondo check COMMAND [OPTIONS]",
      [](const Command& check, Words& to) { check.take_rest(to); },
      [](const Words& words, const RunContext&) { check_command(words); });
}

}  // namespace rondo::program
