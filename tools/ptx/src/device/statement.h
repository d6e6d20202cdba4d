// The statements of a translation unit outside of functions (PTX ISA, section "Directives").
#pragma once

#include <string_view>

namespace ptx {

struct Statement {
  std::string_view text;     // all of it
  std::string_view linkage;  // ".visible", ".weak", ".extern", ".common"; empty: only this unit has the name
  std::string_view kind;     // ".file", ".entry", ".func", or a state space
  std::string_view rest;     // behind the kind, without the body
  std::string_view name;     // of what it declares
  std::string_view body;     // of a function, without the braces
  bool has_body = false;
};

// The statement from `*at` on, which advances behind it. Skips directives and sections that declare nothing.
// False: there are no more.
bool next_statement(std::string_view all, size_t* at, Statement* statement);

}  // namespace ptx
