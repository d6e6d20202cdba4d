// The program rondo. Exit codes: 0 done; 1 the work failed (memory, a device, a full disk, a diverged
// training, wrong elements); 2 what was asked for makes no sense, and nothing was done.

#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/collective/collective.h>
#include <rondo/tools/rondo/devices.h>
#include <rondo/tools/rondo/links/links.h>
#include <rondo/tools/rondo/scale.h>
#include <rondo/tools/rondo/schedule.h>
#include <rondo/tools/rondo/summary.h>
#include <rondo/tools/rondo/terminal.h>
#include <rondo/tools/rondo/train.h>

#include <csignal>
#include <iostream>
#include <new>

namespace {

using rondo::program::CommandLine;

constexpr int kWorkFailed = 1;
constexpr int kBadArgument = 2;

void run(int argc, char** argv) {
  const CommandLine line = rondo::program::parse_command_line(argc, argv);
  switch (line.action) {
    case CommandLine::Action::print_text:
      std::cout << line.text;
      break;
    case CommandLine::Action::train:
      rondo::program::train(line.train, std::cout, rondo::program::ask_terminal());
      break;
    case CommandLine::Action::devices:
      rondo::program::show_devices(line.devices, std::cout);
      break;
    case CommandLine::Action::links:
      rondo::program::show_links(line.links, std::cout);
      break;
    case CommandLine::Action::collective:
      rondo::program::run_collective(line.collective, std::cout);
      break;
    case CommandLine::Action::schedule:
      rondo::program::show_schedule(line.schedule, std::cout);
      break;
    case CommandLine::Action::scale:
      rondo::program::show_scale(line.scale, std::cout);
      break;
    case CommandLine::Action::summary:
      rondo::program::show_summary(line.summary, std::cout);
      break;
  }
  if (!std::cout.flush()) throw std::runtime_error("the standard output could not be written");
}

int complain(const std::string& message, int code) {
  std::cout.flush();
  std::cerr << "rondo: " << message << std::endl;
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is then a write that fails, not the end at once
  try {
    run(argc, argv);
    return 0;
  } catch (const rondo::Error& error) {
    const bool asked_wrongly = error.status().code() == rondo::StatusCode::bad_argument;
    return complain(error.what(), asked_wrongly ? kBadArgument : kWorkFailed);
  } catch (const std::bad_alloc&) {
    return complain("the machine's memory is exhausted", kWorkFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), kWorkFailed);
  }
}
