#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/support/child_process.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace rondo::program {

ChildProcess::ChildProcess(const std::string& option, std::vector<std::string> words) : name_(words.front()) {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(
        Status(StatusCode::out_of_resources, concat("a socket for ", name_, ": ", std::strerror(errno))));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const int error = posix_spawnp(&child_, name_.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  socket_ = ends[0];
  if (error == 0) return;
  close(socket_);
  throw Error(bad_argument(option, " is '", name_, "', which cannot be started: ", std::strerror(error)));
}

ChildProcess::~ChildProcess() {
  close(socket_);
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ChildProcess::throw_ended() const {
  throw Error(Status(StatusCode::device_failed, concat("the program ", name_, " ended before it answered")));
}

std::string ChildProcess::ask(const std::string& line) {
  const std::string text = line + "\n";
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw_ended();
    sent += static_cast<size_t>(count);
  }
  for (;;) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    std::array<char, 4096> piece;
    const ssize_t count = read(socket_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw_ended();
    received_.append(piece.data(), static_cast<size_t>(count));
  }
}

}  // namespace rondo::program
