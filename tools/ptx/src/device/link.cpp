// Translation units that nvcc -rdc=true compiled, as one text. What has linkage is known to all of them: of
// weak definitions the first counts. Other names are a unit's own.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "fault.h"
#include "interpreter.h"
#include "lexer.h"
#include "statement.h"

namespace ptx {
namespace {

struct Unit {
  std::vector<Statement> statements;
  std::unordered_map<std::string_view, std::string> new_names;
  int first_file = 0;  // added to numbers of files
};

bool is_definition(const Statement& statement) {
  if (statement.linkage == ".extern") return false;
  return statement.has_body || (statement.kind != ".entry" && statement.kind != ".func");
}
bool is_shared(const Statement& statement) { return statement.kind == ".shared"; }

// The text of a statement with the unit's own names and numbers of files.
void append_statement(const Unit& unit, std::string_view text, std::string* linked) {
  while (!text.empty()) {
    if (text[0] == '"') {
      const size_t end = std::min(text.find('"', 1), text.size() - 1) + 1;
      *linked += text.substr(0, end);
      text.remove_prefix(end);
      continue;
    }
    const std::string_view word = first_word(text);
    if (word.empty()) {
      *linked += text[0];
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(word.size());
    const auto found = unit.new_names.find(word);
    *linked += found == unit.new_names.end() ? word : std::string_view(found->second);
    int number = 0;
    if ((word == ".file" || word == ".loc" || word == "inlined_at") && take_number(text, &number))
      *linked += concat(" ", number + unit.first_file);
  }
  *linked += '\n';
}

void read_units(const std::vector<std::string>& texts, std::vector<Unit>* units) {
  int files = 0;
  for (const std::string& text : texts) {
    Unit& unit = units->emplace_back();
    unit.first_file = files;
    Statement statement;
    for (size_t at = 0; next_statement(text, &at, &statement);) {
      unit.statements.push_back(statement);
      int number = 0;
      std::string_view rest = statement.rest;
      if (statement.kind == ".file" && take_number(rest, &number))
        files = std::max(files, unit.first_file + number);
    }
  }
}

// A unit's own name that others have, too, gets another one.
void rename_own(std::vector<Unit>* units) {
  std::set<std::string_view> taken;
  for (const Unit& unit : *units)
    for (const Statement& statement : unit.statements)
      if (!statement.linkage.empty()) taken.insert(statement.name);
  for (size_t n = 0; n < units->size(); ++n) {
    Unit& unit = (*units)[n];
    std::set<std::string_view> own;  // declared and defined
    for (const Statement& statement : unit.statements)
      if (statement.linkage.empty() && !statement.name.empty()) own.insert(statement.name);
    for (const std::string_view name : own)
      if (!taken.insert(name).second) unit.new_names[name] = concat(name, "$unit", n);
  }
}

// Whether the definition is the one that counts.
bool counts(const Statement& statement, std::map<std::string_view, std::string_view>* defined) {
  if (statement.linkage.empty()) return true;
  const auto [found, first] = defined->try_emplace(statement.name, statement.linkage);
  if (first) return true;
  if (statement.linkage == ".visible" && found->second == ".visible")
    fail(kInvalidPtx, statement.kind.substr(1), " ", statement.name, " is defined in two units");
  return false;
}

}  // namespace

std::string link(std::vector<std::string> texts) {
  for (std::string& text : texts) blank_comments(text);
  std::vector<Unit> units;
  read_units(texts, &units);
  rename_own(&units);
  std::string linked;
  std::map<std::string_view, std::string_view> defined;  // and the linkage of the definition
  for (const bool visible : {true, false})               // before the weak ones
    for (const Unit& unit : units)
      for (const Statement& statement : unit.statements)
        if (is_definition(statement) && (statement.linkage == ".visible") == visible &&
            statement.kind != ".file" && counts(statement, &defined))
          append_statement(unit, statement.text, &linked);
  std::set<std::string_view> declared;
  for (const Unit& unit : units)
    for (const Statement& statement : unit.statements) {
      if (statement.kind == ".file" ||
          (is_shared(statement) && !is_definition(statement) && declared.insert(statement.name).second)) {
        append_statement(unit, statement.text, &linked);
      } else if (!is_definition(statement) && statement.linkage == ".extern" && !is_shared(statement) &&
                 statement.kind != ".func" && defined.count(statement.name) == 0) {
        fail(kInvalidPtx, "no unit defines the variable ", statement.name);
      }
    }
  return linked;
}

}  // namespace ptx
