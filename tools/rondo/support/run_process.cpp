#include <fcntl.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/run_process.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace rondo::program {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (more.find(text.substr(0, text.find('='))) == more.end()) result.push_back(text);
  }
  for (const auto& [name, value] : more) result.push_back(name + "=" + value);
  return result;
}

// The signals of a terminal go to all its processes; the one that does the work decides.
class IgnoreInterrupts {
 public:
  IgnoreInterrupts() : interrupt_(std::signal(SIGINT, SIG_IGN)), quit_(std::signal(SIGQUIT, SIG_IGN)) {}
  ~IgnoreInterrupts() {
    std::signal(SIGINT, interrupt_);
    std::signal(SIGQUIT, quit_);
  }
  IgnoreInterrupts(const IgnoreInterrupts&) = delete;
  IgnoreInterrupts& operator=(const IgnoreInterrupts&) = delete;

 private:
  void (*interrupt_)(int);
  void (*quit_)(int);
};

}  // namespace

ProcessEnd run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  std::vector<std::string> copies = words, environment = environment_with(options.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  if (!options.standard_output.empty())
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.standard_output.c_str(), kFlags, 0666);
  if (!options.standard_error.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, options.standard_error.c_str(), kFlags, 0666);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGQUIT, SIGXFSZ}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const IgnoreInterrupts ignore;
  pid_t child = -1;
  const int error = posix_spawnp(&child, copies.front().c_str(), &actions, &attributes,
                                 pointers(copies).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw Error(bad_argument("'", copies.front(), "' can't be started: ", std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace rondo::program
