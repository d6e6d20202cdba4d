// The declarations of one translation unit (PTX ISA, sections "State Spaces, Types, and Variables" and
// "Directives").
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "interpreter.h"

namespace ptx {

struct FunctionText {
  std::string_view header;  // between the name and the body
  std::string_view body;
};

// The declaration of a variable without its initialiser.
struct Declaration {
  std::string name;
  int bytes = 0;
  int alignment = 0;
  int element_bytes = 1;
  bool unsized = false;  // "name[]"
};

// Reads ".align 8 .b8 name[16]", after the state space. False: there is no name.
bool parse_declaration(std::string_view text, Declaration* declaration);

class Module {
 public:
  explicit Module(std::string text);

  std::string file_name(int number) const;
  // The address of a function, which nothing else has. 0: there is no such function with a body.
  uint64_t function_address(std::string_view name) const;

  std::unordered_map<std::string, FunctionText> entries;
  std::unordered_map<std::string, FunctionText> functions;  // the header begins with the results
  // Functions whose addresses are used: those that calls through pointers may reach.
  std::unordered_set<std::string> pointed_functions;
  std::unordered_map<std::string, Variable> variables;
  std::unordered_map<std::string, Declaration> shared;  // with static size
  std::unordered_set<std::string> dynamic_shared;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels;
  std::mutex mutex;            // of `kernels`
  int dynamic_alignment = 16;  // of dynamic shared memory

 private:
  struct FreeMemory {
    void operator()(void* memory) const;
  };
  void scan();
  void find_pointed_functions();
  void add_file(std::string_view line);
  void add_variable(std::string_view space, std::string_view text, bool external);
  void initialise(const Declaration& declaration, char* data, std::string_view values);

  std::string text_;
  std::vector<std::string> files_;
  std::vector<std::unique_ptr<void, FreeMemory>> memory_;
  // Initialisers that name other variables, whose addresses are known at the end.
  std::vector<std::pair<char*, std::string_view>> references_;
};

}  // namespace ptx
