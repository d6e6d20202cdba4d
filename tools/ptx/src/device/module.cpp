#include "module.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "instruction.h"
#include "lexer.h"
#include "statement.h"
#include "types.h"

namespace ptx {

void Module::FreeMemory::operator()(void* memory) const { std::free(memory); }

bool parse_declaration(std::string_view text, Declaration* declaration) {
  *declaration = {};
  int64_t element = 1;
  int64_t count = 1;
  for (text = trim(text); !text.empty(); text = trim(text)) {
    if (text[0] == '.') {
      const std::string_view word = first_directive(text);
      text.remove_prefix(word.size());
      if (word == ".attribute") text.remove_prefix(std::min(text.find(')'), text.size() - 1) + 1);
      if (word == ".align") take_number(text, &declaration->alignment);
      if (word == ".v2") count *= 2;
      if (word == ".v4") count *= 4;
      if (const int bytes = type_bytes(type_named(word.substr(1))); bytes > 0) element = bytes;
      continue;
    }
    const std::string_view name = first_word(text);
    declaration->name = name;
    for (text = trim(text.substr(name.size())); text.starts_with('['); text = trim(text)) {
      const size_t close = std::min(text.find(']'), text.size() - 1);
      uint64_t dimension = 0;
      declaration->unsized = !parse_number(trim(text.substr(1, close - 1)), 8, &dimension);
      count *= static_cast<int64_t>(dimension);
      text.remove_prefix(close + 1);
    }
    break;
  }
  declaration->element_bytes = static_cast<int>(element);
  declaration->bytes = static_cast<int>(element * count);
  if (declaration->alignment == 0) declaration->alignment = declaration->element_bytes;
  return !declaration->name.empty();
}

Module::Module(std::string text) : text_(std::move(text)) {
  blank_comments(text_);
  scan();
  for (const auto& [to, reference] : references_) {  // "name", "name+8", "generic(name)+8"
    const size_t plus = reference.find('+');
    uint64_t offset = 0;
    if (plus != reference.npos) parse_number(trim(reference.substr(plus + 1)), 8, &offset);
    std::string_view name = trim(reference.substr(0, plus));
    if (name.starts_with("generic(")) name = trim(name.substr(8, name.size() - 9));
    const auto found = variables.find(std::string(name));
    const uint64_t begin =
        found != variables.end() ? reinterpret_cast<uint64_t>(found->second.data) : function_address(name);
    if (begin == 0) continue;
    const uint64_t address = begin + offset;
    std::memcpy(to, &address, sizeof address);
    if (found == variables.end()) pointed_functions.insert(std::string(name));
  }
  find_pointed_functions();
}

uint64_t Module::function_address(std::string_view name) const {
  const auto found = functions.find(std::string(name));
  return found == functions.end() ? 0 : reinterpret_cast<uint64_t>(&found->second);
}

// "mov.b64 %rd1, name;"
void Module::find_pointed_functions() {
  if (functions.empty()) return;
  const std::string_view all = text_;
  for (const std::string_view move : {"mov.b64", "mov.u64"}) {
    for (size_t at = 0; (at = all.find(move, at)) != all.npos; at += move.size()) {
      const size_t end = std::min(all.find(';', at), all.size());
      const std::string_view operands = all.substr(at, end - at);
      const size_t comma = operands.find(',');
      if (comma == operands.npos) continue;
      std::string name(trim(operands.substr(comma + 1)));
      if (functions.count(name) != 0) pointed_functions.insert(std::move(name));
    }
  }
}

std::string Module::file_name(int number) const {
  const size_t index = static_cast<size_t>(number);
  return number > 0 && index < files_.size() ? files_[index] : "?";
}

void Module::add_file(std::string_view line) {  // 1 "name", 123, 456
  int number = 0;
  if (!take_number(line, &number) || number < 0) return;
  const size_t begin = line.find('"');
  const size_t end = line.find('"', begin + 1);
  if (begin == line.npos || end == line.npos) return;
  if (files_.size() <= static_cast<size_t>(number)) files_.resize(static_cast<size_t>(number) + 1);
  files_[static_cast<size_t>(number)] = line.substr(begin + 1, end - begin - 1);
}

void Module::scan() {
  Statement statement;
  for (size_t at = 0; next_statement(text_, &at, &statement);) {
    if (statement.kind == ".file") {
      add_file(statement.rest);
    } else if (statement.kind == ".entry" || statement.kind == ".func") {
      if (!statement.has_body) continue;
      FunctionText function{statement.rest, statement.body};
      if (statement.kind == ".entry") function.header = function.header.substr(statement.name.size());
      (statement.kind == ".entry" ? entries : functions)[std::string(statement.name)] = function;
    } else {
      add_variable(statement.kind, statement.rest, statement.linkage == ".extern");
    }
  }
}

void Module::add_variable(std::string_view space, std::string_view text, bool external) {
  const size_t equals = text.find('=');
  Declaration declaration;
  if (!parse_declaration(text.substr(0, equals), &declaration)) return;
  if (space == ".shared") {
    if (external || declaration.unsized) {
      dynamic_shared.insert(declaration.name);
      dynamic_alignment = std::max(dynamic_alignment, declaration.alignment);
    } else {
      shared[declaration.name] = declaration;
    }
  } else if (space == ".global" || space == ".const") {
    const size_t bytes = static_cast<size_t>(std::max(declaration.bytes, 1));
    const size_t alignment = std::max<size_t>(256, static_cast<size_t>(declaration.alignment));
    void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!data) throw std::bad_alloc();
    memory_.emplace_back(data);
    std::memset(data, 0, bytes);
    if (equals != text.npos) initialise(declaration, static_cast<char*>(data), text.substr(equals + 1));
    variables[declaration.name] = {declaration.name, data, bytes, space == ".const"};
  }
}

void Module::initialise(const Declaration& declaration, char* data, std::string_view values) {
  const size_t element = static_cast<size_t>(declaration.element_bytes);
  char* const end = data + declaration.bytes;
  for (std::string_view value : elements_of(values)) {
    if (data + element > end) break;
    uint64_t number = 0;
    if (parse_number(value, declaration.element_bytes, &number)) {
      std::memcpy(data, &number, std::min<size_t>(element, 8));
    } else if (element == 8) {
      references_.emplace_back(data, value);
    }
    data += element;
  }
}

}  // namespace ptx
