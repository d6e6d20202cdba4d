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
#include <map>

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

// The object file of a source with -c.
fs::path object_name(const CudaArguments& arguments, const std::string& file) {
  if (!arguments.output.empty()) return arguments.output;
  return fs::path(file).filename().replace_extension(".o");
}

void write_objects(const CudaArguments& arguments, Toolchain& toolchain) {
  std::map<fs::path, std::string> sources;  // by object
  for (const std::string& file : arguments.files) {
    if (!toolchain.is_source(file))
      throw Error(bad_argument("-c compiles sources, and '", file, "' is none"));
    const auto [other, is_new] = sources.emplace(object_name(arguments, file), file);
    if (!is_new)
      throw Error(bad_argument("the object files of '", other->second, "' and '", file, "' would both be '",
                               other->first.string(), "'"));
  }
  for (const std::string& file : arguments.files) {
    const fs::path object = toolchain.compile(file), to = object_name(arguments, file);
    std::error_code error;
    fs::copy_file(object, to, fs::copy_options::overwrite_existing, error);
    if (error)
      throw Error(
          Status(StatusCode::out_of_resources, concat("can't write '", to.string(), "': ", error.message())));
  }
}

}  // namespace

int run_cuda(const CudaArguments& arguments, std::ostream& out) {
  for (const std::string& file : arguments.files)
    check_is_not("-o", arguments.output, "one of the sources", file);
  const TemporaryFolder folder("rondo-cuda");
  Toolchain toolchain(arguments, folder.path());
  if (arguments.compile_only) {
    write_objects(arguments, toolchain);
    return 0;
  }
  std::vector<fs::path> objects;
  for (const std::string& file : arguments.files) objects.push_back(toolchain.compile(file));
  const fs::path program = arguments.keeps() ? fs::absolute(arguments.output) : folder.path() / "program";
  toolchain.link(objects, program);
  if (arguments.keeps()) return 0;

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
