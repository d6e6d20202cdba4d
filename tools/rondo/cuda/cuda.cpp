#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/cuda/counts.h>
#include <rondo/tools/rondo/cuda/cuda.h>
#include <rondo/tools/rondo/cuda/toolchain.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/run_process.h>
#include <rondo/tools/rondo/support/temporary_folder.h>
#include <simt/check.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace rondo::program {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> environment_of(const CudaArguments& arguments) {
  std::map<std::string, std::string> environment;
  if (!arguments.gpu.empty()) environment["SIMT_GPU"] = arguments.gpu;
  if (arguments.seed) environment["SIMT_SEED"] = concat(*arguments.seed);
  if (arguments.zeroed_memory) environment["SIMT_ZEROED_MEMORY"] = "1";
  if (arguments.lockstep) environment["SIMT_LOCKSTEP"] = "1";
  if (arguments.devices) environment["SIMT_DEVICES"] = concat(*arguments.devices);
  return environment;
}

void explain_signal(int signal) {
  if (signal == 0) return;
  std::cerr << "rondo: the program was ended by signal " << signal << " (" << strsignal(signal) << ")";
  if (signal == SIGSEGV || signal == SIGBUS) std::cerr << "; --bounds names a wrong access of a kernel";
  std::cerr << std::endl;
}

// Runs the program with the checks, or plainly.
int run_checked(const CudaArguments& arguments, const std::vector<std::string>& command) {
  std::map<std::string, std::string> environment = environment_of(arguments);
  if (arguments.check) environment["SIMT_CHECK"] = "1";
  if (arguments.bounds) environment["SIMT_BOUNDS"] = "1";
  const ProcessEnd end = run_process(command, {.environment = environment});
  explain_signal(end.signal);
  if ((arguments.check || arguments.bounds) && end.signal == 0 && end.code != simt::kExitCodeOfFindings)
    std::cerr << "rondo: 0 findings" << std::endl;
  return end.code;
}

// Runs the program and shows the counts. After a run with checks its output was seen already.
int run_counted(const CudaArguments& arguments, const std::vector<std::string>& command,
                const fs::path& folder, std::ostream& out) {
  std::map<std::string, std::string> environment = environment_of(arguments);
  const fs::path file = folder / "counts.json";
  environment["SIMT_COUNT"] = file.string();
  environment["SIMT_CHECK"] = "0";  // that of the caller
  const bool again = arguments.check || arguments.bounds;
  const ProcessEnd end = run_process(command, {.environment = environment,
                                               .standard_output = again ? "/dev/null" : "",
                                               .standard_error = again ? "/dev/null" : ""});
  if (!again) explain_signal(end.signal);
  if (fs::exists(file))
    show_counts(file, out);
  else
    std::cerr << "rondo: there are no counts, because the program did not call exit() or return from main()"
              << std::endl;
  return end.code;
}

}  // namespace

int run_cuda(const CudaArguments& arguments, std::ostream& out) {
  const bool keep = !arguments.output.empty();
  for (const std::string& file : arguments.files)
    check_is_not("-o", arguments.output, "one of the sources", file);
  const TemporaryFolder folder("rondo-cuda");
  Toolchain toolchain(arguments, folder.path());
  std::vector<fs::path> objects;
  for (const std::string& file : arguments.files) objects.push_back(toolchain.compile(file));
  const fs::path program = keep ? fs::absolute(arguments.output) : folder.path() / "program";
  toolchain.link(objects, program);
  if (keep) return 0;

  std::vector<std::string> command = {program.string()};
  command.insert(command.end(), arguments.words.begin(), arguments.words.end());
  int code = 0;
  if (arguments.check || arguments.bounds || !arguments.count) code = run_checked(arguments, command);
  if (arguments.count) {
    const int counted = run_counted(arguments, command, folder.path(), out);
    if (code == 0) code = counted;
  }
  return code;
}

}  // namespace rondo::program
