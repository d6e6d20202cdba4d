#include <fcntl.h>
#include <poll.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/run_process.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

extern char** environ;

namespace rondo::program {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of(const ProcessOptions& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const bool left_out = std::any_of(options.left_out.begin(), options.left_out.end(),
                                      [&](const std::string& begin) { return text.rfind(begin, 0) == 0; });
    if (!left_out && !options.environment.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : options.environment) result.push_back(name + "=" + value);
  return result;
}

// The signals of a terminal go to all its processes; the one that does the work decides. Handlers belong to
// the whole process: the first of several threads replaces them, and the last one restores them.
class IgnoreInterrupts {
 public:
  IgnoreInterrupts() {
    const std::lock_guard lock(mutex_);
    if (users_++ != 0) return;
    interrupt_ = std::signal(SIGINT, SIG_IGN);
    quit_ = std::signal(SIGQUIT, SIG_IGN);
  }
  ~IgnoreInterrupts() {
    const std::lock_guard lock(mutex_);
    if (--users_ != 0) return;
    std::signal(SIGINT, interrupt_);
    std::signal(SIGQUIT, quit_);
  }
  IgnoreInterrupts(const IgnoreInterrupts&) = delete;
  IgnoreInterrupts& operator=(const IgnoreInterrupts&) = delete;

 private:
  static inline std::mutex mutex_;
  static inline int users_ = 0;
  static inline void (*interrupt_)(int) = SIG_DFL;
  static inline void (*quit_)(int) = SIG_DFL;
};

bool ends_within(pid_t child, double seconds) {
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;
  const Clock::time_point end = Clock::now() + Milliseconds(static_cast<int64_t>(std::ceil(1000 * seconds)));
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd ended = {descriptor, POLLIN, 0};  // poll() ignores the negative descriptor of an old kernel
  bool has_ended = false;
  while (!has_ended) {
    siginfo_t info = {};
    has_ended =
        waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    const int64_t left = std::chrono::ceil<Milliseconds>(end - Clock::now()).count();
    if (has_ended || left <= 0) break;
    poll(&ended, 1, static_cast<int>(std::min<int64_t>(left, descriptor < 0 ? 10 : 1000)));
  }
  if (descriptor >= 0) close(descriptor);
  return has_ended;
}

}  // namespace

ProcessEnd run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  std::vector<std::string> copies = words, environment = environment_of(options);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  if (!options.standard_output.empty())
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.standard_output.c_str(), kFlags, 0666);
  if (!options.standard_error.empty() && options.standard_error == options.standard_output)
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  else if (!options.standard_error.empty())
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, options.standard_error.c_str(), kFlags, 0666);
  if (!options.standard_input.empty())
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, options.standard_input.c_str(), O_RDONLY, 0);
  if (!options.file_3.empty())
    posix_spawn_file_actions_addopen(&actions, 3, options.file_3.c_str(), kFlags, 0666);
  if (!options.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, options.folder.c_str());
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
  for (const auto& [resource, most] :
       {std::pair(RLIMIT_DATA, options.memory_bytes), std::pair(RLIMIT_FSIZE, options.file_bytes)}) {
    const rlimit limit = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
    if (most > 0) prlimit(child, resource, &limit, nullptr);
  }
  const bool timed_out = options.seconds > 0 && !ends_within(child, options.seconds);
  if (timed_out) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status), timed_out};
  return {WEXITSTATUS(status), 0, timed_out};
}

}  // namespace rondo::program
