// Options of `rondo banks` and `rondo sectors`.
#pragma once

#include <rondo/tools/rondo/banks/expression.h>
#include <rondo/tools/rondo/support/command.h>

#include <optional>
#include <string>

namespace rondo::program {

struct AccessArguments {
  std::optional<Expression> index;  // of the element that a thread accesses
  int width = 4;                    // bytes of each thread's access
  std::optional<int> element = {};  // bytes of an element; not given: 4, but at most the width
  bool store = false;               // of `rondo banks`
  std::string svg = {};             // empty: not requested
  std::string json = {};

  int element_bytes() const { return element.value_or(width < 4 ? width : 4); }
};

void add_banks(Program& program);
void add_sectors(Program& program);

}  // namespace rondo::program
