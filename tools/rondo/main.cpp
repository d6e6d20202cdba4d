// The program rondo. Exit codes:
//   0              success
//   1              the work failed: memory, a device, a full disk, a diverged training, wrong elements
//   2              an invalid command line; nothing was done
//   3              the check of the kernels found a mistake (rondo check)
//   129, 130, 143  SIGHUP, SIGINT (Ctrl-C) or SIGTERM ended a training, after its step and its checkpoint

#include <rondo/kernels/runtime/platform.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/banks/banks.h>
#include <rondo/tools/rondo/check/check.h>
#include <rondo/tools/rondo/collective/collective.h>
#include <rondo/tools/rondo/devices/devices.h>
#include <rondo/tools/rondo/support/launched.h>
#include <rondo/tools/rondo/links/links.h>
#include <rondo/tools/rondo/numerics/numerics.h>
#include <rondo/tools/rondo/plot/plot.h>
#include <rondo/tools/rondo/profile/profile_command.h>
#include <rondo/tools/rondo/scale/scale.h>
#include <rondo/tools/rondo/schedule/schedule.h>
#include <rondo/tools/rondo/shard/shard.h>
#include <rondo/tools/rondo/strategies/strategies.h>
#include <rondo/tools/rondo/summary/summary.h>
#include <rondo/tools/rondo/support/terminal.h>
#include <rondo/tools/rondo/train/train_from_scratch.h>
#include <rondo/tools/rondo/train/train_mlp.h>
#include <rondo/tools/rondo/train/train_network.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <new>

namespace {

using rondo::program::CommandLine;

constexpr int kWorkFailed = 1;
constexpr int kBadArgument = 2;
constexpr int kStopped = 128;  // plus the signal's number, as in shells

// Joins the processes that train or measure together. All other commands ignore MPI.
std::unique_ptr<rondo::ProcessGroup> processes_for(const CommandLine& line) {
  using Action = CommandLine::Action;
  const auto join = [](int timeout) { return rondo::program::join_launched(std::chrono::seconds(timeout)); };
  switch (line.action) {
    case Action::train_lenet:
      return join(line.lenet.timeout);
    case Action::train_resnet18:
      return join(line.resnet18.timeout);
    case Action::train_mlp:
      return join(line.mlp.timeout);
    case Action::collective:
      return join(line.collective.timeout);
    default:
      return nullptr;
  }
}

// Returns the signal that ended the work early, or 0.
int run(const CommandLine& line, rondo::ProcessGroup* processes) {
  int signal = 0;
  // A launcher's output can look like a terminal to its processes, so assume that it is not one.
  const rondo::program::Terminal terminal =
      processes ? rondo::program::Terminal() : rondo::program::ask_terminal();
  switch (line.action) {
    case CommandLine::Action::print_text:
      std::cout << line.text;
      break;
    case CommandLine::Action::train_lenet:
      if (line.lenet.from_scratch)
        rondo::program::train_from_scratch(line.lenet, std::cout, terminal, processes);
      else
        signal = rondo::program::train_network(line.lenet, std::cout, terminal, processes);
      break;
    case CommandLine::Action::train_resnet18:
      signal = rondo::program::train_network(line.resnet18, std::cout, terminal, processes);
      break;
    case CommandLine::Action::train_mlp:
      rondo::program::train_mlp(line.mlp, std::cout, terminal, processes);
      break;
    case CommandLine::Action::check:
      rondo::program::check_command(line.checked);
    case CommandLine::Action::devices:
      rondo::program::show_devices(line.devices, std::cout);
      break;
    case CommandLine::Action::links:
      rondo::program::show_links(line.links, std::cout);
      break;
    case CommandLine::Action::numerics:
      rondo::program::show_numerics(line.numerics, std::cout);
      break;
    case CommandLine::Action::plot:
      rondo::program::show_plot(line.plot, std::cout);
      break;
    case CommandLine::Action::collective:
      rondo::program::run_collective(line.collective, std::cout, processes);
      break;
    case CommandLine::Action::profile:
      rondo::program::show_profile(line.profile, std::cout, terminal);
      break;
    case CommandLine::Action::schedule:
      rondo::program::show_schedule(line.schedule, std::cout);
      break;
    case CommandLine::Action::scale:
      rondo::program::show_scale(line.scale, std::cout);
      break;
    case CommandLine::Action::strategies:
      rondo::program::run_strategies(line.strategies, std::cout);
      break;
    case CommandLine::Action::shard:
      rondo::program::show_shard(line.shard, std::cout, terminal);
      break;
    case CommandLine::Action::summary:
      rondo::program::show_summary(line.summary, std::cout);
      break;
    case CommandLine::Action::banks:
      rondo::program::show_banks(line.banks, std::cout, terminal);
      break;
    case CommandLine::Action::sectors:
      rondo::program::show_sectors(line.sectors, std::cout, terminal);
      break;
  }
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
  std::signal(SIGXFSZ, SIG_IGN);  // a file that exceeds the size limit then fails to write, without a signal
  rondo::set_cuda_environment();
  std::unique_ptr<rondo::ProcessGroup> processes;  // outlives the try block: print_error() ends the others
  try {
    const CommandLine line = rondo::program::parse_command_line(argc, argv);
    processes = processes_for(line);
    const int signal = run(line, processes.get());
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
