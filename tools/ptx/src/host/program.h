// Program: what nvcc's host code has registered, and the modules that are loaded of it.
#pragma once

#include <driver_types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../device/interpreter.h"
#include "fat_binary.h"

namespace ptx {

// One translation unit of the program, or all that nvcc -rdc=true compiled.
struct Unit {
  explicit Unit(const std::vector<const void*>& fat_binaries)
      : code(fat_binaries.begin(), fat_binaries.end()) {}

  struct Loaded {
    std::shared_ptr<Module> module;
    int architecture = 0;
    // Why the module lacks the code of a fat binary, if others have some: nvcc -rdc=true adds the library of
    // device runtime functions, whose PTX only the newest GPUs run.
    std::optional<Fault> lacks;
  };
  std::vector<FatBinary> code;
  bool has_variables = false;
  // Variables that the host accesses by the pointers at these addresses. All devices then share the module.
  std::vector<std::pair<void**, std::string>> managed;
  // By compute capability and, if the unit has variables, by device, because each device has its own.
  std::map<std::pair<int, int>, Loaded> loaded;
};

struct KernelCode {
  std::shared_ptr<Module> module;
  const Kernel* kernel = nullptr;
  int architecture = 0;
};

class Program {
 public:
  static Program& get();

  Unit* add_unit(const std::vector<const void*>& fat_binaries);
  void remove_unit(Unit* unit);
  // `host`: the address by which the host code names a kernel or a variable.
  void add_kernel(Unit* unit, const void* host, std::string name);
  void add_variable(Unit* unit, const void* host, std::string name);
  void add_managed(Unit* unit, void** pointer, std::string name);
  // Sets the pointers to the managed variables of a unit.
  void place_managed(Unit* unit);

  // The name as the compiler writes it in PTX, valid as long as the unit; null for what is no kernel.
  const char* kernel_name(const void* host);
  // The code that a device runs. Loads it at the first call. Throws simt::Failure, after a line on stderr if
  // the error alone does not tell enough.
  KernelCode kernel(const void* host, int device);
  Variable variable(const void* host, int device);
  void forget_variables(int device);
  // For PTX_REPORT: a line "- R NAME" for each kernel that the program has, and the lines of ptx::report()
  // for the modules that were loaded, with the architecture of their code in front.
  std::string report();

 private:
  struct Named {
    Unit* unit;
    std::string name;
  };
  Unit::Loaded& load(Unit& unit, int device);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::unordered_map<const void*, Named> kernels_, variables_;
};

}  // namespace ptx
