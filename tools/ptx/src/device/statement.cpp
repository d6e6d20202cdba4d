#include "statement.h"

#include <algorithm>

#include "lexer.h"
#include "module.h"

namespace ptx {
namespace {

bool is_linkage(std::string_view word) {
  return word == ".visible" || word == ".weak" || word == ".extern" || word == ".common";
}

// [linkage] .entry or .func with or without a body, or a variable up to its ';'.
Statement declaration_at(std::string_view all, size_t at) {
  Statement statement;
  size_t end = std::min(all.find_first_of("{;", at), all.size());
  std::string_view head = trim(all.substr(at, end - at));
  while (is_linkage(statement.kind = first_directive(head))) {
    statement.linkage = statement.kind;
    head = trim(head.substr(statement.kind.size()));
  }
  head = trim(head.substr(statement.kind.size()));
  if (statement.kind == ".entry" || statement.kind == ".func") {
    statement.rest = head;
    if (statement.kind == ".func" && head.starts_with('('))
      head = trim(head.substr(std::min(head.find(')') + 1, head.size())));
    statement.name = first_word(head);
    statement.has_body = end < all.size() && all[end] == '{';
    if (statement.has_body) {
      const size_t close = end_of_braces(all, end);
      statement.body = all.substr(end + 1, close - end - 2);
      end = close - 1;
    }
  } else {
    const size_t begin = static_cast<size_t>(head.data() - all.data());
    end = std::min(all.find(';', begin), all.size());
    statement.rest = all.substr(begin, end - begin);
    Declaration declaration;
    const std::string_view declared = statement.rest.substr(0, statement.rest.find('='));
    if (parse_declaration(declared, &declaration))
      statement.name = declared.substr(declared.rfind(declaration.name), declaration.name.size());
  }
  statement.text = all.substr(at, std::min(end + 1, all.size()) - at);
  return statement;
}

}  // namespace

bool next_statement(std::string_view all, size_t* at, Statement* statement) {
  while (*at < all.size()) {
    if (is_space(all[*at])) {
      ++*at;
      continue;
    }
    const std::string_view directive = first_directive(all.substr(*at));
    const size_t line_end = std::min(all.find('\n', *at), all.size());
    if (directive == ".version" || directive == ".target" || directive == ".address_size") {
      *at = line_end;
    } else if (directive == ".section") {
      *at = end_of_braces(all, all.find('{', *at));
    } else {
      if (directive == ".file") {
        *statement = {};
        statement->text = all.substr(*at, line_end - *at);
        statement->kind = directive;
        statement->rest = statement->text.substr(directive.size());
      } else {
        *statement = declaration_at(all, *at);
      }
      *at += statement->text.size();
      return true;
    }
  }
  return false;
}

}  // namespace ptx
