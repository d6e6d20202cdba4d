// Where things begin and end among the tokens of a C++ source: brackets, declarations, expressions.
//
// What a name means is not known. So "<" after a name is taken for the bracket of template arguments where
// declarations are read, which holds in all but contrived sources; what it gets wrong the compiler refuses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.h"

namespace simt::translate {

inline constexpr size_t kNowhere = static_cast<size_t>(-1);

class Syntax {
 public:
  explicit Syntax(const Source& source);

  const Token& at(size_t i) const { return i < tokens_.size() ? tokens_[i] : end_; }
  size_t size() const { return tokens_.size(); }
  // The other bracket of ( ) [ ] { }, or kNowhere.
  size_t match(size_t i) const { return match_[i]; }
  bool is_name(size_t i) const { return at(i).kind == Kind::identifier; }
  // The names and numbers between `begin` and `end`, as on one line.
  std::string text(size_t begin, size_t end) const;

  // Three characters "<<<" or ">>>" that begin at i.
  bool is_triple(size_t i, std::string_view bracket) const;
  // The token after the template arguments that "<" at i begins, or i + 1 if none do.
  size_t after_angle(size_t i) const;
  // The "<" of the ">" at i, or kNowhere.
  size_t before_angle(size_t i) const;
  // The first token of the declaration or statement that contains i: after ";", "{", "}", an access label or
  // a directive.
  size_t begin_of_declaration(size_t i) const;
  // The first token of the postfix expression whose last one is at i, such as "ns::f<N>" or "table[i]".
  size_t begin_of_postfix(size_t i) const;

 private:
  bool is_label(size_t colon) const;  // "name:", "case 1:"

  const std::vector<Token>& tokens_;
  std::vector<size_t> match_;
  Token end_;
};

// One function with its body, as far as a rewriting needs it.
struct Function {
  size_t name = kNowhere;               // "operator" of an operator
  size_t parameters = 0;                // its "("
  size_t body = kNowhere;               // "{"; kNowhere: a declaration
  std::optional<size_t> template_list;  // the "<" of "template <...>" in front
  size_t begin = 0;                     // of the declaration
};

// What a qualifier such as __device__ at `i` belongs to: a function, or nothing if it is a variable.
std::optional<Function> function_at(const Syntax& syntax, size_t i);

struct Parameter {
  std::string name;  // empty: it has none
  bool is_pack = false;
  size_t end = 0;  // where a name could be written
};
// The parameters between "(" at `open` and its match.
std::vector<Parameter> parameters_of(const Syntax& syntax, size_t open);
// The template parameters of "<" at `open`.
std::vector<Parameter> template_parameters_of(const Syntax& syntax, size_t open);

struct Declarator {
  size_t name;
  bool has_initializer = false;
  bool is_pointer = false;
  size_t empty_bracket = kNowhere;  // the "]" of an array without a size
};
// The variables that [begin, end) declares; end is a ";".
std::vector<Declarator> declarators_of(const Syntax& syntax, size_t begin, size_t end);

}  // namespace simt::translate
