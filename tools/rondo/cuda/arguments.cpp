#include <rondo/tools/rondo/cuda/cuda.h>
#include <rondo/tools/rondo/cuda/nvcc_options.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <simt/gpus.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>

namespace rondo::program {
namespace {

constexpr int kMostDevices = 1024;  // of the executor

std::string read_language(const std::string& text) {
  for (const char* const language : {"cu", "c++", "c"})
    if (text == language) return text;
  throw Error(bad_argument("-x is '", text, "', must be cu, c++ or c"));
}

std::string read_standard(const std::string& text) {
  for (const std::string prefix : {"c++", "gnu++"})
    for (const char* const year : {"11", "14", "17", "20", "23", "26"})
      if (text == prefix + year) return text;
  throw Error(bad_argument("--std is '", text,
                           "', must be c++11, c++14, c++17, c++20, c++23 or c++26, or gnu++ "
                           "instead of c++"));
}

// Appends the parts of "A,B".
void append_list(const std::string& text, std::vector<std::string>& to) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) to.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// Takes the words after "--" for the program, and accepts options as nvcc names them.
void take_words_of_program(std::vector<std::string>& words, std::vector<std::string>& program) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end()) {
    program.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  replace_nvcc_names(words);
}

void add_cuda_options(const Command& cuda, CudaArguments& to) {
  cuda.rewrite([&](std::vector<std::string>& words) { take_words_of_program(words, to.words); });
  cuda.add_list("files", "FILE",
                "Sources (.cu, .cpp), objects and archives; after -- the program's arguments",
                [&](const std::string& s) { to.files.push_back(read_path("FILE", s)); })
      .required();
  cuda.when_missing("no source was named: rondo cuda FILE.cu [-- ARGUMENTS]");
  const auto add_strings = [&](const char* name, const char* value, const char* help,
                               std::vector<std::string>& list) {
    cuda.add_list(name, value, help, [&list](const std::string& s) { list.push_back(s); });
  };
  add_strings("-I", "FOLDER", "Also search headers there", to.include_folders);
  add_strings("--system-include", "FOLDER", "The same, without warnings of them; -isystem is the same",
              to.system_folders);
  add_strings("-D", "NAME[=VALUE]", "Define a macro", to.definitions);
  add_strings("-L", "FOLDER", "Also search libraries there", to.library_folders);
  cuda.add_list("-l", "NAME", "Also link a library; the executor itself is cudart, cuda and cublas",
                [&](const std::string& name) {
                  if (!executor_has_library(name)) to.libraries.push_back(name);
                });
  cuda.add("--std", "NAME",
           "Language; before c++20 it is C++20, which the headers need, without its new names [c++17]",
           [&](const std::string& s) { to.standard = read_standard(s); });
  add_integer(cuda, "-O", "LEVEL", "Optimisation of the compiler [2]", to.optimization, 0, 3);
  cuda.add("--fmad", "BOOL", "Fused multiply-adds where the source has a product and a sum [true]",
           [&](const std::string& s) {
             if (s != "true" && s != "false")
               throw Error(bad_argument("--fmad is '", s, "', must be true or false"));
             to.compiler_options.push_back(s == "true" ? "-ffp-contract=fast" : "-ffp-contract=off");
           });
  cuda.add("--compiler", "NAME", "The C++ compiler [g++]",
           [&](const std::string& s) { to.compiler = read_path("--compiler", s); });
  cuda.add_list(
      "--compiler-option", "FLAGS",
      "Also give these options to the compiler and the linker, separated by commas; -Xcompiler is the same, "
      "and -g, -G (as -g), -w, -W... and -pthread need neither",
      [&](const std::string& flags) { append_list(flags, to.compiler_options); });
  cuda.add_list("--linker-options", "FLAGS",
                "Give these options to the linker, separated by commas; -Xlinker is the same",
                [&](const std::string& flags) { append_list(flags, to.linker_options); });
  cuda.add("-x", "LANGUAGE", "All sources are cu (CUDA C++), c++ or c [as their names end]",
           [&](const std::string& s) { to.language = read_language(s); });
  cuda.add_flag("-c,--compile", to.compile_only,
                "Write an object file for each source, NAME.o in this folder or -o FILE; -dc is the same");
  add_path(cuda, "-o", "FILE", "Write the program to this file, and do not run it", to.output);
  cuda.add_flag("--check", to.check, "Find races, reads of memory that nobody wrote, and faults of kernels");
  cuda.add_flag(
      "--bounds", to.bounds,
      "Find accesses of kernels outside of allocations, to freed and host memory, and of the host to "
      "memory of a device");
  cuda.add_flag("--count", to.count,
                "Count the accesses of each source line; with --check or --bounds in a second run");
  cuda.add_flag(
      "--zeroed-memory", to.zeroed_memory,
      "New memory of the devices is 0 instead of NaN, for programs that read what they did not write");
  cuda.add_flag("--lockstep", to.lockstep,
                "Threads make their volatile accesses in step, for programs without __syncwarp");
  cuda.add("--gpu", "NAME", concat("The limits of a GPU: ", simt::gpu_names(), ", or a list"),
           [&](const std::string& s) {
             if (!simt::gpus_named(s))
               throw Error(bad_argument("--gpu is '", s, "', must be ", simt::gpu_names()));
             to.gpu = s;
           });
  cuda.add("--seed", "N", "Run blocks, threads and operations in a drawn order", [&](const std::string& s) {
    to.seed = read_integer<uint64_t>("--seed", s, 0, std::numeric_limits<uint64_t>::max());
  });
  cuda.add("--devices", "N", "The number of devices [8]",
           [&](const std::string& s) { to.devices = read_integer<int>("--devices", s, 1, kMostDevices); });
  add_nvcc_options(cuda);
  cuda.when_parsed([&] {
    if (!to.keeps()) return;
    const std::string option = to.compile_only ? "-c" : concat("-o '", to.output, "'");
    if (!to.words.empty())
      throw Error(bad_argument(option, " does not run the program: no arguments can follow --"));
    if (to.gpu != "" || to.seed || to.devices || to.zeroed_memory)
      throw Error(
          bad_argument(option,
                       " does not run the program: --gpu, --seed, --devices and --zeroed-memory are "
                       "SIMT_GPU, SIMT_SEED, SIMT_DEVICES and SIMT_ZEROED_MEMORY in the environment of "
                       "the run"));
    if (to.compile_only && !to.output.empty() && to.files.size() > 1)
      throw Error(bad_argument("-c writes an object file for each of the ", to.files.size(), " sources: -o '",
                               to.output, "' names only one"));
  });
}

}  // namespace

void add_cuda(Program& program) {
  program.add<CudaArguments>("cuda",
                             "Compile CUDA C++ for the CPU and run it: rondo cuda FILE.cu [-- ARGUMENTS]",
                             add_cuda_options, [](const CudaArguments& arguments, const RunContext& context) {
                               const int code = run_cuda(arguments, context.out);
                               context.out << std::flush;
                               if (code != 0) std::exit(code);  // that of the program
                             });
}

}  // namespace rondo::program
