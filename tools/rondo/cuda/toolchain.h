// The compiler, the executor's headers and its libraries, and how programs are made of them.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/cuda/cuda.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rondo::program {

struct Executor {
  std::filesystem::path headers, library, observed_library;
};

// Of the installation that this program belongs to, else of its build folder. Throws an Error if parts are
// missing.
Executor find_executor();

// Throws a bad_argument Error if there is no such file, or if it is a folder or a pipe.
void check_source(const std::string& file);

// The compiler or the translation has refused a source, or the linker its objects.
struct NotCompiled : Error {
  using Error::Error;
};

// Members throw a NotCompiled, or another Error if the compiler can't be started.
class Toolchain {
 public:
  // `folder` is for temporary files.
  Toolchain(const CudaArguments& arguments, std::filesystem::path folder);

  // Makes an object file of a source, or returns an object or archive as it is.
  std::filesystem::path compile(const std::string& file);
  bool is_source(const std::string& file) const;
  void link(const std::vector<std::filesystem::path>& objects, const std::filesystem::path& program) const;

 private:
  // "cu", "c++", "c", "object", or "" for another name.
  std::string language_of(const std::string& file) const;
  std::filesystem::path translate(const std::string& file, const std::filesystem::path& stem) const;
  std::vector<std::string> language() const;
  std::vector<std::string> preprocessing() const;
  std::vector<std::string> code_options() const;

  const CudaArguments& arguments_;
  const std::filesystem::path folder_;
  const Executor executor_;
  const bool is_gcc_12_;
  int compiled_ = 0;
};

}  // namespace rondo::program
