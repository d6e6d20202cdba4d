// From the text of a function to instructions.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "instruction.h"
#include "module.h"
#include "types.h"

namespace ptx {

// An instruction while it is decoded.
struct Draft {
  Instruction instruction;
  Source source;
  std::vector<Operand> operands;
  std::vector<int32_t> numbers;
  std::string_view opcode;                  // "ld.global.f32"
  std::vector<std::string_view> parts;      // of the opcode
  std::vector<std::string_view> arguments;  // text of the operands

  // Whether the opcode has the qualifier, as a whole part, or as the start of one ("multicast" of
  // "multicast::cluster").
  bool has(std::string_view qualifier) const;
  bool has_prefix(std::string_view qualifier) const;
  Type type() const { return type_named(parts.back()); }
  void add(Operand operand) { operands.push_back(operand); }
  void add_absent() { operands.push_back({}); }
};

// An address operand: a register or a variable, and an offset.
struct Address {
  Operand base;  // absent: of a variable
  Base relative = Base::absolute;
  bool local = false;  // a variable in local memory, such as an argument of a call
  int64_t offset = 0;
  std::vector<std::string_view> rest;  // what follows a comma inside of the brackets
};

struct Label {
  std::string_view name;
  int block;
};

class Decoder {
 public:
  Decoder(Kernel& kernel, const Module& module, Code& code);
  void decode(const FunctionText& text);

  // Operands. A source is a register, a constant of `bytes`, or a special register; a destination is a
  // register or "_".
  Operand source(std::string_view text, int bytes);
  Operand source(std::string_view text, Type type) { return source(text, register_bytes(type)); }
  Operand destination(std::string_view text);
  Operand constant(uint64_t value, int bytes);
  bool find_register(std::string_view name, Operand* operand) const;
  Address address(std::string_view text);
  // The kernel has instructions by which the asynchronous proxy reads shared memory.
  void uses_async_reads() { code_.async_reads = true; }
  void add_product_register(Operand operand) { code_.product_registers.push_back(operand); }
  // Adds the address as the operand, with its offset in `immediate`.
  Address add_address(Draft& draft, std::string_view text);
  // The variable `name`, "+ offset" included. False: it is none.
  bool find_variable(std::string_view name, Address* address);

 private:
  struct Range {  // .reg .b32 %r<10>
    std::string_view prefix;
    int count;
    Operand first;
  };
  struct Jump {
    size_t instruction;
    std::vector<Label> labels;
  };

  void read_header(std::string_view header);
  void read_body(std::string_view body, std::vector<size_t>* returns);
  void read_statement(std::string_view text, std::vector<size_t>* returns);
  bool read_label(std::string_view body, size_t* at, std::string_view name);
  void read_location(std::string_view line);
  void declare_registers(std::string_view text);
  void declare_memory(std::string_view space, std::string_view text);
  void instruction(std::string_view text, std::vector<size_t>* returns);
  void call(Draft& draft);
  void inline_function(const FunctionText& function, const std::vector<std::string_view>& results,
                       const std::vector<std::string_view>& arguments);
  void call_pointer(Draft&& draft, Operand pointer, const std::vector<std::string_view>& results,
                    const std::vector<std::string_view>& arguments);
  void bind(const std::vector<std::string_view>& formal, const std::vector<std::string_view>& actual);
  int local_variable(std::string_view name) const;  // its offset; -1: there is none
  void push(Draft&& draft);
  void not_supported(Draft& draft, std::string problem);
  void enter_block();
  void leave_block();
  int find_label(const Label& label) const;
  void resolve_jumps();
  void pack();
  int32_t allocate(int bytes);

  Kernel& kernel_;
  const Module& module_;
  Code& code_;
  std::vector<Draft> drafts_;

  std::vector<std::string_view> parameter_names_;
  std::vector<std::unordered_map<std::string_view, Operand>> scopes_;  // single registers
  std::vector<Range> ranges_;
  std::vector<size_t> range_marks_;  // ranges at the start of each block
  int block_ = 0;
  std::vector<int> parents_{-1};  // of blocks
  std::map<std::pair<int, std::string_view>, int> labels_;
  std::unordered_map<std::string_view, std::vector<std::string_view>> tables_;  // .branchtargets
  std::vector<Jump> jumps_;
  std::unordered_map<std::string_view, int> shared_;               // offsets
  std::vector<std::unordered_map<std::string_view, int>> locals_;  // offsets, by block
  std::map<std::pair<uint64_t, int>, int32_t> constants_;
  std::unordered_map<std::string_view, int32_t> specials_;
  int32_t next_register_ = 0;
  int shared_bytes_ = 0, local_bytes_ = 0;
  int location_ = -1;
  std::map<std::tuple<int, int, int>, int> locations_;  // by file, line and column
  int depth_ = 0;                                       // of inlined functions
};

}  // namespace ptx
