#include "syntax.h"

#include <algorithm>

namespace simt::translate {
namespace {

bool is_one_of(const Token& token, std::initializer_list<std::string_view> texts) {
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) { return token.is(text); });
}

// Names that are followed by "(" without being the name of a function.
bool takes_operand(const Token& token) {
  return is_one_of(token, {"__attribute__", "__attribute", "alignas", "decltype", "noexcept", "explicit",
                           "typeof", "__typeof__", "sizeof", "alignof", "requires"});
}

bool is_type_keyword(const Token& token) {
  return is_one_of(token, {"void", "bool", "char", "short", "int", "long", "float", "double", "signed",
                           "unsigned", "auto", "wchar_t", "char8_t", "char16_t", "char32_t", "__int128"});
}

bool is_specifier(const Token& token) {
  return is_one_of(token, {"const", "volatile", "struct", "class", "union", "enum", "typename", "register",
                           "__restrict__", "__restrict", "constexpr"});
}

// The identifiers after which "(" or "<<<" does not belong to an expression that ends there.
bool ends_expression(const Token& token) {
  return is_one_of(token,
                   {"return", "else", "do", "case", "co_return", "co_yield", "throw", "and", "or", "not"});
}

}  // namespace

Syntax::Syntax(const Source& source) : tokens_(source.tokens), match_(source.tokens.size(), kNowhere) {
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Kind::punctuator) continue;
    const char c = tokens_[i].text[0];
    if (c == '(' || c == '[' || c == '{') open.push_back(i);
    if (c != ')' && c != ']' && c != '}') continue;
    if (open.empty()) continue;  // the compiler will say so
    match_[i] = open.back();
    match_[open.back()] = i;
    open.pop_back();
  }
}

std::string Syntax::text(size_t begin, size_t end) const {
  std::string result;
  for (size_t i = begin; i < end; ++i) {
    if (i != begin && !at(i).glued) result += ' ';
    result += at(i).text;
  }
  return result;
}

bool Syntax::is_triple(size_t i, std::string_view bracket) const {
  return at(i).is(bracket) && at(i + 1).is(bracket) && at(i + 1).glued && at(i + 2).is(bracket) &&
         at(i + 2).glued;
}

size_t Syntax::after_angle(size_t i) const {
  int depth = 0;
  for (size_t k = i; k < size(); ++k) {
    const Token& token = at(k);
    if (token.kind != Kind::punctuator) continue;
    if (token.is("<")) ++depth;
    if (token.is(">") && !at(k - 1).is("-") && --depth == 0) return k + 1;
    if (is_one_of(token, {";", "}", ")", "]"})) break;
    if (is_one_of(token, {"(", "[", "{"})) {
      if (match(k) == kNowhere) break;
      k = match(k);
    }
  }
  return i + 1;
}

size_t Syntax::before_angle(size_t i) const {
  int depth = 0;
  for (size_t k = i; k != kNowhere; --k) {
    const Token& token = at(k);
    if (token.kind != Kind::punctuator) continue;
    if (token.is(">") && !at(k - 1).is("-")) ++depth;
    if (token.is("<") && --depth == 0) return k;
    if (is_one_of(token, {";", "{", "(", "["})) break;
    if (is_one_of(token, {"}", ")", "]"})) {
      if (match(k) == kNowhere) break;
      k = match(k);
    }
  }
  return kNowhere;
}

bool Syntax::is_label(size_t colon) const {
  if (is_name(colon - 1) && is_one_of(at(colon - 2), {";", "{", "}"})) return true;
  for (size_t k = colon; k-- > 0 && !is_one_of(at(k), {";", "{", "}", "?", ":"});)
    if (at(k).is("case")) return true;
  return false;
}

size_t Syntax::begin_of_declaration(size_t i) const {
  for (size_t k = i; k-- > 0;) {
    const Token& token = at(k);
    if (token.kind == Kind::directive || is_one_of(token, {";", "{", "}"})) return k + 1;
    if (token.is(":") && is_one_of(at(k - 1), {"public", "private", "protected", "default"})) return k + 1;
    if (token.is(":") && is_label(k)) return k + 1;
    if (is_one_of(token, {")", "]"}) && match(k) != kNowhere) k = match(k);
  }
  return 0;
}

size_t Syntax::begin_of_postfix(size_t i) const {
  size_t begin = i;
  for (;;) {
    if (at(begin).is(">")) {
      const size_t open = before_angle(begin);
      if (open == kNowhere || open == 0) return begin;
      begin = open - 1;
      continue;
    }
    if (is_one_of(at(begin), {")", "]"})) {
      if (match(begin) == kNowhere) return begin;
      begin = match(begin);
      const Token& before = at(begin - 1);
      // "if (x) (*f)<<<1, 1>>>()"
      const size_t of_statement = before.is(")") ? match(begin - 1) : kNowhere;
      if (of_statement != kNowhere && of_statement != 0 &&
          is_one_of(at(of_statement - 1), {"if", "while", "for", "switch", "constexpr"}))
        return begin;
      const bool is_call =
          (before.kind == Kind::identifier && !ends_expression(before)) || is_one_of(before, {")", "]", ">"});
      if (!is_call) return begin;
      begin -= 1;
      continue;
    }
    // A name, with what qualifies it.
    if (begin == 0) return begin;
    if (at(begin - 1).is("template")) --begin;
    if (at(begin - 1).is("::")) {
      begin -= 1;
      const Token& before = at(begin - 1);
      if ((before.kind == Kind::identifier && !ends_expression(before)) || before.is(">")) {
        begin -= 1;
        continue;
      }
      return begin;
    }
    if (at(begin - 1).is(".")) {
      begin -= 2;
      continue;
    }
    if (at(begin - 1).is(">") && at(begin - 2).is("-")) {
      begin -= 3;
      continue;
    }
    return begin;
  }
}

std::optional<Function> function_at(const Syntax& syntax, size_t i) {
  Function function;
  function.begin = syntax.begin_of_declaration(i);
  if (syntax.at(function.begin).is("template") && syntax.at(function.begin + 1).is("<"))
    function.template_list = function.begin + 1;

  // Its parameters are the first "(" after its name.
  size_t k = i + 1;
  while (function.parameters == 0) {
    const Token& token = syntax.at(k);
    if (token.kind == Kind::directive || token.text.empty()) return {};
    if (takes_operand(token) && syntax.at(k + 1).is("(")) {
      if (syntax.match(k + 1) == kNowhere) return {};
      k = syntax.match(k + 1) + 1;
    } else if (token.is("operator")) {
      function.name = k;
      k += syntax.at(k + 1).is("(") ? 3 : 2;  // operator()
      while (k < syntax.size() && !syntax.at(k).is("(")) ++k;
    } else if (token.is("<")) {
      k = syntax.after_angle(k);
    } else if (token.is("[") && syntax.at(k + 1).is("[") && syntax.match(k) != kNowhere) {
      k = syntax.match(k) + 1;  // an attribute
    } else if (token.is("(")) {
      if (function.name == kNowhere || syntax.at(k + 1).is("*")) return {};  // "float (*f)(int)"
      function.parameters = k;
    } else if (is_one_of(token, {";", "=", "[", "{", "}", ",", ")"})) {
      return {};
    } else {
      if (token.kind == Kind::identifier) function.name = k;
      ++k;
    }
  }

  // The body follows qualifiers, a trailing return type, or the initializers of a constructor.
  if (syntax.match(function.parameters) == kNowhere) return {};
  k = syntax.match(function.parameters) + 1;
  bool initializers = false;
  for (; k < syntax.size(); ++k) {
    const Token& token = syntax.at(k);
    if (is_one_of(token, {";", "=", "}"}) || token.kind == Kind::directive) return function;
    if (token.is("(") || token.is("[")) {
      if (syntax.match(k) == kNowhere) return function;
      k = syntax.match(k);
    } else if (token.is(":")) {
      initializers = true;
    } else if (token.is("{")) {
      // A member that is initialized by braces: "x{1}".
      const bool member = initializers && (syntax.is_name(k - 1) || syntax.at(k - 1).is(">"));
      if (!member) {
        function.body = syntax.match(k) == kNowhere ? kNowhere : k;
        return function;
      }
      if (syntax.match(k) == kNowhere) return function;
      k = syntax.match(k);
    }
  }
  return function;
}

namespace {

// Divides [begin, end) at the commas that are in no bracket.
std::vector<std::pair<size_t, size_t>> divide(const Syntax& syntax, size_t begin, size_t end) {
  std::vector<std::pair<size_t, size_t>> parts;
  size_t part = begin;
  for (size_t k = begin; k < end;) {
    const Token& token = syntax.at(k);
    if (is_one_of(token, {"(", "[", "{"}) && syntax.match(k) != kNowhere) {
      k = syntax.match(k) + 1;
    } else if (token.is("<")) {
      k = syntax.after_angle(k);
    } else {
      if (token.is(",")) {
        parts.emplace_back(part, k);
        part = k + 1;
      }
      ++k;
    }
  }
  if (part < end) parts.emplace_back(part, end);
  return parts;
}

// The name in "(*name)", "(*__restrict__ name)" or "(Class::*name)" at `open`, or kNowhere.
size_t name_in_brackets(const Syntax& syntax, size_t open) {
  if (syntax.match(open) == kNowhere) return kNowhere;
  const size_t last = syntax.match(open) - 1;
  const bool declares = is_one_of(syntax.at(last - 1), {"*", "&"}) || is_specifier(syntax.at(last - 1));
  return declares && syntax.is_name(last) && !is_specifier(syntax.at(last)) ? last : kNowhere;
}

Parameter parameter_of(const Syntax& syntax, size_t begin, size_t end) {
  Parameter parameter;
  size_t last = kNowhere, words = 0;
  for (size_t k = begin; k < end;) {
    const Token& token = syntax.at(k);
    if (token.is("=")) {
      end = k;
    } else if (token.is("...")) {
      parameter.is_pack = true;
      last = kNowhere;
      ++k;
    } else if (takes_operand(token) && syntax.at(k + 1).is("(")) {
      k = syntax.match(k + 1) == kNowhere ? end : syntax.match(k + 1) + 1;
      ++words;
    } else if (token.is("(") && name_in_brackets(syntax, k) != kNowhere) {  // void (*name)(int)
      parameter.name = syntax.at(name_in_brackets(syntax, k)).text;
      return parameter;
    } else if (token.is("(") && syntax.at(k + 1).is("*") && syntax.at(k + 2).is(")")) {  // void (*)(int)
      parameter.end = k + 2;
      return parameter;
    } else if (token.is("[") && syntax.at(k + 1).is("[") && syntax.match(k) != kNowhere) {
      k = syntax.match(k) + 1;  // an attribute
    } else if (is_one_of(token, {"(", "[", "{"}) && syntax.match(k) != kNowhere) {
      if (token.is("[")) end = std::min(end, k);
      k = syntax.match(k) + 1;
    } else if (token.is("<")) {
      k = syntax.after_angle(k);
      last = kNowhere;
    } else {
      if (token.kind == Kind::identifier && !is_specifier(token)) {
        ++words;
        last =
            is_type_keyword(token) || syntax.at(k - 1).is("::") || syntax.at(k + 1).is("::") ? kNowhere : k;
      } else if (token.kind == Kind::punctuator) {
        last = kNowhere;
      }
      ++k;
    }
  }
  parameter.end = end;
  // "T x" and "unsigned x" have a name, "T" and "const T" have none.
  if (last != kNowhere &&
      (words > 1 || parameter.is_pack || syntax.at(last - 1).is(">") ||
       is_one_of(syntax.at(last - 1), {"*", "&", "typename", "class"}) ||
       (is_one_of(syntax.at(last - 1), {"const", "volatile", "__restrict__", "__restrict"}) &&
        !is_one_of(syntax.at(begin), {"const", "volatile"}))))
    parameter.name = syntax.at(last).text;
  return parameter;
}

}  // namespace

std::vector<Parameter> parameters_of(const Syntax& syntax, size_t open) {
  std::vector<Parameter> parameters;
  const size_t close = syntax.match(open);
  if (close == open + 2 && syntax.at(open + 1).is("void")) return parameters;
  for (const auto& [begin, end] : divide(syntax, open + 1, close))
    parameters.push_back(parameter_of(syntax, begin, end));
  return parameters;
}

std::vector<Parameter> template_parameters_of(const Syntax& syntax, size_t open) {
  std::vector<Parameter> parameters;
  for (const auto& [begin, end] : divide(syntax, open + 1, syntax.after_angle(open) - 1))
    parameters.push_back(parameter_of(syntax, begin, end));
  return parameters;
}

std::vector<Declarator> declarators_of(const Syntax& syntax, size_t begin, size_t end) {
  std::vector<Declarator> declarators;
  for (const auto& [first, last] : divide(syntax, begin, end)) {
    Declarator declarator{kNowhere};
    for (size_t k = first; k < last;) {
      const Token& token = syntax.at(k);
      if (token.is("=")) {
        declarator.has_initializer = true;
        break;
      }
      if (token.is("(") && syntax.at(k + 1).is("*") && syntax.is_name(k + 2)) {
        declarator.name = k + 2;
        break;
      }
      if (takes_operand(token) && syntax.at(k + 1).is("(") && syntax.match(k + 1) != kNowhere) {
        k = syntax.match(k + 1) + 1;
      } else if (token.is("[") && syntax.match(k) != kNowhere) {
        if (syntax.match(k) == k + 1 && declarator.empty_bracket == kNowhere)
          declarator.empty_bracket = k + 1;
        k = syntax.match(k) + 1;
      } else if (is_one_of(token, {"(", "{"}) && syntax.match(k) != kNowhere) {
        // The members of a type that is declared here, or an initializer.
        const bool members = declarator.name == kNowhere ||
                             is_one_of(syntax.at(k - 1), {"struct", "union"}) ||
                             is_one_of(syntax.at(k - 2), {"struct", "union"});
        if (!members) declarator.has_initializer = true;
        k = syntax.match(k) + 1;
      } else if (token.is("<")) {
        k = syntax.after_angle(k);
      } else {
        if (token.kind == Kind::identifier) declarator.name = k;
        declarator.is_pointer |= token.is("*");
        ++k;
      }
    }
    if (declarator.name != kNowhere) declarators.push_back(declarator);
  }
  return declarators;
}

}  // namespace simt::translate
