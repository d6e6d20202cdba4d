// The program rondo. Exit codes:
//   0              success
//   1              the work failed: memory, a device, a full disk, a diverged training, wrong elements
//   2              an invalid command line; nothing was done
//   3              the race detector found a mistake (rondo check)
//   129, 130, 143  SIGHUP, SIGINT (Ctrl-C) or SIGTERM ended a training, after its step and its checkpoint

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/commands.h>
#include <rondo/tools/rondo/support/launched.h>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <new>

namespace {

constexpr int kWorkFailed = 1;
constexpr int kBadArgument = 2;
constexpr int kStopped = 128;  // plus the signal's number, as in shells

// A file that is opened later must not get the number of a standard stream that is closed (`>&-`): it would
// get what is printed. Writing to the stream still fails.
void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDONLY));
}

// Returns the signal that ended the work early, or 0.
int run(const rondo::program::ParsedCommand& command, rondo::ProcessGroup* processes) {
  rondo::program::RunContext context = {.out = std::cout, .processes = processes};
  // A launcher's output can look like a terminal to its processes, so assume that it is not one.
  if (!rondo::program::has_launcher()) context.terminal = rondo::program::ask_terminal();
  const int signal = command.run(context);
  if (!std::cout.flush()) throw std::runtime_error("the standard output could not be written");
  return signal;
}

int print_error(const std::string& message, int code, rondo::ProcessGroup* processes) {
  if (processes) rondo::program::end_all(*processes, message, code);
  std::cout.flush();
  rondo::program::print_error(message);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that exceeds the size limit then fails to write, without a signal
  rondo::set_cuda_environment();
  std::unique_ptr<rondo::ProcessGroup> processes;  // outlives the try block: print_error() ends the others
  try {
    const rondo::program::ParsedCommand command = rondo::program::parse_command_line(argc, argv);
    if (command.timeout) processes = rondo::program::join_launched(*command.timeout);
    const int signal = run(command, processes.get());
    return signal == 0 ? 0 : kStopped + signal;
  } catch (const rondo::Error& error) {
    const bool asked_wrongly = error.status().code() == rondo::StatusCode::bad_argument;
    return print_error(error.what(), asked_wrongly ? kBadArgument : kWorkFailed, processes.get());
  } catch (const std::bad_alloc&) {
    return print_error("the machine's memory is exhausted", kWorkFailed, processes.get());
  } catch (const std::exception& error) {
    return print_error(error.what(), kWorkFailed, processes.get());
  }
}
