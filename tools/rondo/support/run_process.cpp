#include <fcntl.h>
#include <poll.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/deferred_signals.h>
#include <rondo/tools/rondo/support/run_process.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>
#include <optional>
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

using Clock = std::chrono::steady_clock;

// Waits until the child has ended, `end`, or a deferred signal. Returns whether it has ended.
bool ends_before(pid_t child, std::optional<Clock::time_point> end, bool until_signal = true) {
  using Milliseconds = std::chrono::milliseconds;
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd ended = {descriptor, POLLIN, 0};  // poll() ignores the negative descriptor of an old kernel
  bool has_ended = false;
  for (;;) {
    siginfo_t info = {};
    has_ended =
        waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    // Another thread may get the signal, so that poll() is not interrupted.
    int64_t pause = descriptor < 0 ? 10 : 200;
    if (end) pause = std::min(pause, std::chrono::ceil<Milliseconds>(*end - Clock::now()).count());
    if (has_ended || pause <= 0 || (until_signal && DeferredSignals::arrived() != 0)) break;
    poll(&ended, 1, static_cast<int>(pause));
  }
  if (descriptor >= 0) close(descriptor);
  return has_ended;
}

bool open_as(int descriptor, const std::string& file, int flags) {
  if (file.empty()) return true;
  const int opened = open(file.c_str(), flags, 0666);
  if (opened < 0 || opened == descriptor) return opened >= 0;
  return dup2(opened, descriptor) >= 0 && close(opened) == 0;
}

// What the child does after fork(): only calls that are possible while another thread held a lock. Returns
// only if it fails.
void become(char* const* words, char* const* environment, const ProcessOptions& options, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return;  // it has ended before
  for (const int signal : {SIGINT, SIGQUIT, SIGXFSZ}) std::signal(signal, SIG_DFL);
  const auto processors = static_cast<double>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
  for (const auto& [resource, most] :
       {std::pair(RLIMIT_DATA, options.memory_bytes), std::pair(RLIMIT_FSIZE, options.file_bytes),
        std::pair(RLIMIT_CPU, static_cast<int64_t>(std::ceil(options.seconds * processors)))}) {
    const rlimit limit = {static_cast<rlim_t>(most), static_cast<rlim_t>(most)};
    if (most > 0) setrlimit(resource, &limit);
  }
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  const bool same = options.standard_error == options.standard_output;
  if (!open_as(STDOUT_FILENO, options.standard_output, kNew) ||
      !open_as(STDERR_FILENO, same ? "" : options.standard_error, kNew) ||
      !open_as(STDIN_FILENO, options.standard_input, O_RDONLY) || !open_as(3, options.file_3, kNew))
    return;
  if (same && !options.standard_output.empty() && dup2(STDOUT_FILENO, STDERR_FILENO) < 0) return;
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) return;
  execvpe(words[0], words, environment);
}

// Returns the child's process id. Throws an Error if its program can't be started.
pid_t start(const std::vector<std::string>& words, const ProcessOptions& options) {
  std::vector<std::string> copies = words, environment = environment_of(options);
  const std::vector<char*> arguments = pointers(copies), variables = pointers(environment);
  int error = 0;
  std::array<int, 2> errors = {-1, -1};  // closed by the start of the program
  const auto fail = [&] {
    throw Error(bad_argument("'", copies.front(), "' can't be started: ", std::strerror(error)));
  };
  if (pipe2(errors.data(), O_CLOEXEC) != 0) {
    error = errno;
    fail();
  }
  constexpr int kAboveFile3 = 10;
  const int to_parent = fcntl(errors[1], F_DUPFD_CLOEXEC, kAboveFile3);
  const pid_t parent = getpid(), child = to_parent < 0 ? -1 : fork();
  if (child == 0) {
    become(arguments.data(), variables.data(), options, parent);
    error = errno;
    static_cast<void>(!write(to_parent, &error, sizeof error));
    _exit(127);
  }
  if (child < 0) error = errno;
  close(errors[1]);
  if (to_parent >= 0) close(to_parent);
  ssize_t got = -1;
  while (child > 0 && (got = read(errors[0], &error, sizeof error)) < 0 && errno == EINTR) continue;
  close(errors[0]);
  if (got > 0) waitpid(child, nullptr, 0);
  if (error != 0) fail();
  return child;
}

}  // namespace

ProcessEnd run_process(const std::vector<std::string>& words, const ProcessOptions& options) {
  const IgnoreInterrupts ignore;
  const pid_t child = start(words, options);
  std::optional<Clock::time_point> end;
  if (options.seconds > 0)
    end = Clock::now() +
          std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(options.seconds));
  bool has_ended = ends_before(child, end);
  const int signal = DeferredSignals::arrived();
  const bool timed_out = !has_ended && signal == 0;
  if (!has_ended && signal != 0) {
    kill(child, signal);
    has_ended = ends_before(child, Clock::now() + std::chrono::seconds(1), /*until_signal=*/false);
  }
  if (!has_ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (signal != 0)
    throw Error(
        Status(StatusCode::out_of_resources, concat("ended by signal ", signal)));  // it is raised later
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status), timed_out};
  return {WEXITSTATUS(status), 0, timed_out};
}

}  // namespace rondo::program
