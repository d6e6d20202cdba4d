// `rondo cuda FILE.cu... [-- arguments]`: compiles CUDA C++ for the CPU executor, and runs it.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

struct CudaArguments {
  std::vector<std::string> files;  // sources (.cu, .cpp), objects and archives
  std::vector<std::string> words;  // of the program's command line, after "--"

  std::vector<std::string> include_folders, system_folders, definitions, library_folders, libraries;
  std::vector<std::string> compiler_options, linker_options;
  std::string standard = "c++17", compiler = "g++", output;
  std::string language;  // of all sources: "cu", "c++" or "c"; empty: as their names end
  int optimization = 2;
  bool compile_only = false;

  bool check = false, bounds = false, count = false, zeroed_memory = false, lockstep = false;
  std::string gpu;
  std::optional<uint64_t> seed;
  std::optional<int> devices;

  bool keeps() const { return compile_only || !output.empty(); }  // does not run the program
  bool observes() const { return check || bounds || count || lockstep; }
};

// Returns the exit code of the program: 3 if there were findings of --check or --bounds, 128 plus the signal
// that ended it. Throws rondo::Error; a bad_argument if a source is refused by the translation or the
// compiler.
int run_cuda(const CudaArguments& arguments, std::ostream& out);

void add_cuda(Program& program);

}  // namespace rondo::program
