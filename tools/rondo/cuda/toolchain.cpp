#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/cuda/toolchain.h>
#include <rondo/tools/rondo/support/run_process.h>

#include <array>
#include <iostream>
#include <iterator>
#include <span>
#include <utility>

#include "rondo_executor_paths.h"
#include "translate/translate.h"

namespace rondo::program {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  constexpr int64_t kMostBytes = int64_t{1} << 31;
  return RegularFile(path.string()).contents<std::string>(kMostBytes);
}

[[noreturn]] void refuse_source(const std::string& file, const char* by) {
  throw NotCompiled(bad_argument("'", file, "' was not compiled: the errors of ", by, " are above"));
}

// Headers of the CUDA toolkit whose libraries the executor does not have.
std::string missing_library(const std::string& errors) {
  static constexpr std::array<std::pair<const char*, const char*>, 12> kLibraries = {
      {{"cublas", "cuBLAS"},
       {"cudnn", "cuDNN"},
       {"curand", "cuRAND"},
       {"cufft", "cuFFT"},
       {"cusparse", "cuSPARSE"},
       {"cusolver", "cuSOLVER"},
       {"nccl", "NCCL"},
       {"thrust/", "Thrust"},
       {"cutlass/", "CUTLASS"},
       {"cute/", "CuTe"},
       {"npp", "NPP"},
       {"nvrtc", "NVRTC"}}};
  const size_t end = errors.find(": No such file or directory");
  if (end == errors.npos) return {};
  const size_t begin = errors.rfind(' ', end - 1);
  const std::string header = errors.substr(begin + 1, end - begin - 1);
  for (const auto& [prefix, library] : kLibraries)
    if (header.rfind(prefix, 0) == 0)
      return concat("'", header, "' belongs to ", library, ", which the executor does not have");
  return {};
}

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  for (const char* const other : words)
    if (word == other) return true;
  return false;
}

// Clang does not know the option that code_options() adds for g++ 12.
bool is_gcc_12(const std::string& compiler, const fs::path& folder) {
  const std::string version = (folder / "compiler_version").string();
  const ProcessEnd end = run_process({compiler, "-dumpfullversion"},
                                     {.standard_output = version, .standard_error = "/dev/null"});
  return end.code == 0 && read_file(version).starts_with("12.");
}

// "gnu++17"
bool is_before_cxx20(const std::string& standard) {
  return is_one_of(standard.substr(standard.size() - 2), {"11", "14", "17"});
}

}  // namespace

Executor find_executor() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const fs::path prefix = program.parent_path().parent_path();
  Executor executor;
  if (fs::exists(prefix / "include/rondo-simt/cuda_runtime.h"))
    executor = {prefix / "include/rondo-simt", prefix / kLibraryFolder / "libsimt.a",
                prefix / kLibraryFolder / "libsimt_observed.a"};
  else
    executor = {kExecutorHeaders, kExecutorLibrary, kObservedExecutorLibrary};
  for (const fs::path& part : {executor.headers, executor.library})
    if (!fs::exists(part))
      throw Error(bad_argument("the CPU executor is not where this program was built or installed: '",
                               part.string(), "' is missing"));
  return executor;
}

void check_source(const std::string& file) {
  if (!fs::exists(file)) throw Error(bad_argument("there is no file '", file, "'"));
  static_cast<void>(RegularFile(file));  // not a folder, and not a pipe, for which the compiler would wait
}

Toolchain::Toolchain(const CudaArguments& arguments, fs::path folder)
    : arguments_(arguments),
      folder_(std::move(folder)),
      executor_(find_executor()),
      is_gcc_12_(is_gcc_12(arguments.compiler, folder_)) {
  if (arguments.observes() && !fs::exists(executor_.observed_library))
    throw Error(bad_argument("--check, --bounds, --count and --lockstep need '",
                             executor_.observed_library.string(),
                             "', which is missing; it is built where g++ has libbacktrace (<backtrace.h>)"));
}

// The headers of the executor are C++20. For older sources, names that are new in it are hidden, and there
// are no warnings about uses of volatile that it deprecates.
std::vector<std::string> Toolchain::language() const {
  if (!is_before_cxx20(arguments_.standard)) return {"-std=" + arguments_.standard};
  const char* const prefix = arguments_.standard[0] == 'g' ? "gnu++" : "c++";
  return {concat("-std=", prefix, "20"), "-fno-char8_t", "-Wno-volatile"};
}

std::vector<std::string> Toolchain::preprocessing() const {
  std::vector<std::string> options = {"-isystem", executor_.headers.string(), "-D__NVCC__"};
  if (arguments_.observes()) options.insert(options.end(), {"-include", "simt/observed_copies.h"});
  if (is_before_cxx20(arguments_.standard))
    options.insert(options.end(), {"-include", "simt/before_cxx20.h"});
  for (const std::string& folder : arguments_.include_folders) options.push_back("-I" + folder);
  for (const std::string& folder : arguments_.system_folders)
    options.insert(options.end(), {"-isystem", folder});
  for (const std::string& definition : arguments_.definitions) options.push_back("-D" + definition);
  options.insert(options.end(), arguments_.compiler_options.begin(), arguments_.compiler_options.end());
  if (arguments_.observes()) {
    options.emplace_back("-DSIMT_OBSERVE");
    options.emplace_back("-DSIMT_CHECK_ALIGNMENT");
  }
  return options;
}

std::vector<std::string> Toolchain::code_options() const {
  std::vector<std::string> options = {concat("-O", arguments_.optimization), "-fno-omit-frame-pointer",
                                      "-Wno-unknown-pragmas", "-Wno-attributes"};
  if (!arguments_.keeps()) options.emplace_back("-march=native");
#ifdef __x86_64__
  if (is_gcc_12_)  // see tools/cmake/native.cmake
    options.emplace_back("-mtune-ctrl=^inter_unit_moves_to_vec");
#endif
  if (arguments_.observes())
    options.insert(options.end(), std::begin(kObserveOptions), std::end(kObserveOptions));
  options.insert(options.end(), arguments_.compiler_options.begin(), arguments_.compiler_options.end());
  return options;
}

fs::path Toolchain::translate(const std::string& file, const fs::path& stem) const {
  const fs::path preprocessed = fs::path(stem) += ".ii", translated = fs::path(stem) += ".translated.ii",
                 errors = fs::path(stem) += ".errors";
  std::vector<std::string> command = {arguments_.compiler, "-E", "-x", "c++"};
  for (const std::vector<std::string>& options : {language(), preprocessing()})
    command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), {"-include", "cuda_runtime.h", "-DSIMT_TRANSLATE", "-D__CUDACC__", file, "-o",
                                 preprocessed.string()});
  const int status = run_process(command, {.standard_error = errors.string()}).code;
  const std::string messages = read_file(errors);
  if (status != 0 && messages.empty())  // a full disk loses them
    throw Error(
        Status(StatusCode::out_of_resources,
               concat("'", arguments_.compiler, "' ended with exit code ", status,
                      " and without a message; is there space in '", folder_.parent_path().string(), "'?")));
  std::cerr << messages << std::flush;
  if (status != 0) {
    if (const std::string library = missing_library(messages); !library.empty())
      throw NotCompiled(bad_argument("'", file, "' was not compiled: ", library));
    refuse_source(file, "the preprocessor");
  }
  const simt::translate::Source source(read_file(preprocessed));
  const simt::translate::Translation translation = simt::translate::translate(source);
  for (const auto& problem : translation.problems)
    std::cerr << problem.file << ":" << problem.line << ": error: " << problem.message << "\n";
  if (!translation.problems.empty()) refuse_source(file, "the translation");
  replace_file(translated.string(), translation.text);
  return translated;
}

std::string Toolchain::language_of(const std::string& file) const {
  const std::string extension = fs::path(file).extension();
  if (is_one_of(extension, {".o", ".a", ".so"})) return "object";
  if (!arguments_.language.empty()) return arguments_.language;
  if (extension == ".cu") return "cu";
  if (extension == ".c") return "c";
  return is_one_of(extension, {".cpp", ".cc", ".cxx", ".C"}) ? "c++" : "";
}

bool Toolchain::is_source(const std::string& file) const { return language_of(file) != "object"; }

fs::path Toolchain::compile(const std::string& file) {
  check_source(file);
  const std::string written_in = language_of(file);
  if (written_in == "object") return fs::absolute(file);
  if (written_in.empty())
    throw Error(bad_argument(
        "'", file, "' is not a source (.cu, .cpp, .cc, .cxx, .c), an object or an archive; -x cu takes any"));
  const fs::path stem = folder_ / concat(++compiled_, "-", fs::path(file).filename().string());
  const fs::path object = fs::path(stem) += ".o";
  const bool is_c = written_in == "c";
  std::vector<std::string> command = {arguments_.compiler};
  for (const std::vector<std::string>& options :
       {is_c ? std::vector<std::string>() : language(), code_options()})
    command.insert(command.end(), options.begin(), options.end());
  if (written_in == "cu") {
    command.insert(command.end(), {"-x", "c++-cpp-output", translate(file, stem).string()});
  } else {
    const std::vector<std::string> options = preprocessing();
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-x", written_in, file});
  }
  command.insert(command.end(), {"-c", "-o", object.string()});
  if (run_process(command).code != 0) refuse_source(file, arguments_.compiler.c_str());
  return object;
}

void Toolchain::link(const std::vector<fs::path>& objects, const fs::path& program) const {
  std::vector<std::string> command = {arguments_.compiler};
  for (const fs::path& object : objects) command.push_back(object.string());
  command.push_back(arguments_.observes() ? executor_.observed_library.string() : executor_.library.string());
  for (const std::string& folder : arguments_.library_folders) command.push_back("-L" + folder);
  for (const std::string& library : arguments_.libraries) command.push_back("-l" + library);
  command.insert(command.end(), arguments_.compiler_options.begin(), arguments_.compiler_options.end());
  for (const std::string& option : arguments_.linker_options)
    command.insert(command.end(), {"-Xlinker", option});
  if (arguments_.observes()) command.emplace_back("-lbacktrace");
  for (const char* const library : kExecutorNeeds) command.emplace_back(library);
  command.insert(command.end(), {"-o", program.string()});
  if (run_process(command).code != 0)
    throw NotCompiled(bad_argument("the program was not linked: the errors are above"));
}

}  // namespace rondo::program
