// Not muparser, the library that distributions have: its integer parser takes ^ for a power, has no ~, gives
// & and | one precedence, computes in doubles, and ends the process at a division by zero.
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/banks/expression.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace rondo::program {
namespace {

using Value = std::function<int64_t(int64_t thread)>;

constexpr size_t kMostCharacters = 1000;  // bounds the depth of the parser's recursion

// What the expression does for a thread: "divides by zero".
struct Fault {
  const char* what;
};

template <bool (*operation)(int64_t, int64_t, int64_t*)>
int64_t checked(int64_t a, int64_t b) {
  int64_t result = 0;
  if (operation(a, b, &result)) throw Fault{"overflows 64 bits"};
  return result;
}

bool add(int64_t a, int64_t b, int64_t* to) { return __builtin_add_overflow(a, b, to); }
bool subtract(int64_t a, int64_t b, int64_t* to) { return __builtin_sub_overflow(a, b, to); }
bool multiply(int64_t a, int64_t b, int64_t* to) { return __builtin_mul_overflow(a, b, to); }

int64_t divide(int64_t a, int64_t b) {
  if (b == 0) throw Fault{"divides by zero"};
  return b == -1 ? checked<subtract>(0, a) : a / b;
}
int64_t remainder(int64_t a, int64_t b) {
  if (b == 0) throw Fault{"divides by zero"};
  return b == -1 ? 0 : a % b;
}
int64_t shift_right(int64_t a, int64_t b) {
  if (b < 0 || b > 63) throw Fault{"shifts by a number outside 0 to 63"};
  return a >> b;
}
int64_t shift_left(int64_t a, int64_t b) {
  const int64_t result = b < 0 || b > 63 ? 0 : a << b;
  if (shift_right(result, b) != a) throw Fault{"overflows 64 bits"};
  return result;
}

struct Operator {
  std::string_view sign;
  int level;  // of precedence; a higher one binds more tightly
  int64_t (*apply)(int64_t, int64_t);
};

// Signs that begin with another sign precede it. && and || are not computed here, because they may skip an
// operand.
constexpr int kOr = 1, kAnd = 2;
constexpr Operator kOperators[] = {
    {"||", kOr, nullptr},
    {"&&", kAnd, nullptr},
    {"==", 6, [](int64_t a, int64_t b) { return int64_t{a == b}; }},
    {"!=", 6, [](int64_t a, int64_t b) { return int64_t{a != b}; }},
    {"<<", 8, shift_left},
    {">>", 8, shift_right},
    {"<=", 7, [](int64_t a, int64_t b) { return int64_t{a <= b}; }},
    {">=", 7, [](int64_t a, int64_t b) { return int64_t{a >= b}; }},
    {"<", 7, [](int64_t a, int64_t b) { return int64_t{a < b}; }},
    {">", 7, [](int64_t a, int64_t b) { return int64_t{a > b}; }},
    {"|", 3, [](int64_t a, int64_t b) { return a | b; }},
    {"^", 4, [](int64_t a, int64_t b) { return a ^ b; }},
    {"&", 5, [](int64_t a, int64_t b) { return a & b; }},
    {"+", 9, checked<add>},
    {"-", 9, checked<subtract>},
    {"*", 10, checked<multiply>},
    {"/", 10, divide},
    {"%", 10, remainder},
};

Value applied(const Operator& op, const Value& a, const Value& b) {
  if (op.level == kOr) return [=](int64_t thread) { return int64_t{a(thread) != 0 || b(thread) != 0}; };
  if (op.level == kAnd) return [=](int64_t thread) { return int64_t{a(thread) != 0 && b(thread) != 0}; };
  return [=, apply = op.apply](int64_t thread) {
    const int64_t left = a(thread);
    return apply(left, b(thread));
  };
}

// A recursive-descent parser: choice() parses ?:, binary() climbs the levels of the operators above.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Value parse() {
    Value value = choice();
    if (at_ < text_.size()) fail("an operator");
    return value;
  }

 private:
  Value choice() {
    Value condition = binary(kOr);
    if (!accept("?")) return condition;
    Value yes = choice();
    if (!accept(":")) fail("an operator or ':'");
    Value no = choice();
    return [=](int64_t thread) { return condition(thread) != 0 ? yes(thread) : no(thread); };
  }

  Value binary(int least_level) {
    Value left = unary();
    for (;;) {
      const Operator* op = next_operator();
      if (!op || op->level < least_level) return left;
      at_ += op->sign.size();
      left = applied(*op, left, binary(op->level + 1));
    }
  }

  Value unary() {
    if (next_is("++") || next_is("--")) fail(kValue);
    if (accept("+")) return unary();
    if (accept("-")) return [a = unary()](int64_t thread) { return checked<subtract>(0, a(thread)); };
    if (accept("!")) return [a = unary()](int64_t thread) { return int64_t{a(thread) == 0}; };
    if (accept("~")) return [a = unary()](int64_t thread) { return ~a(thread); };
    if (accept("(")) {
      Value value = choice();
      if (!accept(")")) fail("an operator or ')'");
      return value;
    }
    return word();
  }

  Value word() {
    skip_spaces();
    size_t end = at_;
    const auto part_of_word = [](char c) {
      return ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_' ||
             c == '.';
    };
    while (end < text_.size() && part_of_word(text_[end])) ++end;
    const std::string_view word = std::string_view(text_).substr(at_, end - at_);
    if (word == "thread" || word == "lane" || word == "tx" || word == "threadIdx.x") {
      at_ = end;
      return [](int64_t thread) { return thread; };
    }
    const bool hexadecimal = word.starts_with("0x") || word.starts_with("0X");
    const bool octal = !hexadecimal && word.size() > 1 && word[0] == '0';  // in C
    const char *first = word.data() + (hexadecimal ? 2 : 0), *last = word.data() + word.size();
    int64_t number = 0;
    const auto [read_to, error] = std::from_chars(first, last, number, hexadecimal ? 16 : 10);
    if (error != std::errc() || read_to != last || octal) fail(kValue, std::max<size_t>(word.size(), 1));
    at_ = end;
    return [number](int64_t) { return number; };
  }

  const Operator* next_operator() {
    if (next_is("++") || next_is("--")) fail("an operator");
    const auto found = std::ranges::find_if(kOperators, [&](const Operator& op) { return next_is(op.sign); });
    return found == std::end(kOperators) ? nullptr : found;
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  bool next_is(std::string_view sign) {
    skip_spaces();
    return text_.compare(at_, sign.size(), sign) == 0;
  }
  bool accept(std::string_view sign) {
    if (!next_is(sign)) return false;
    at_ += sign.size();
    return true;
  }

  static constexpr const char* kValue =
      "a number such as 4 or 0x1F, thread, '(' or one of - + ! ~ (thread is also written lane, tx or "
      "threadIdx.x)";

  // `expected` is what is valid at the current position, `size` the characters there that the message shows.
  [[noreturn]] void fail(const char* expected, size_t size = 1) {
    skip_spaces();
    if (at_ >= text_.size())
      throw Error(bad_argument("the expression '", text_, "' ends where it must have ", expected));
    size = std::max(size, utf8_length(std::string_view(text_).substr(at_)));
    throw Error(bad_argument("the expression '", text_, "' has '", text_.substr(at_, size), "' at character ",
                             at_ + 1, ", must have ", expected));
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

Expression::Expression(const std::string& text) : text_(text) {
  if (text.size() > kMostCharacters)
    throw Error(
        bad_argument("the expression has ", text.size(), " characters, must have at most ", kMostCharacters));
  value_ = Parser(text_).parse();
}

int64_t Expression::at(int thread) const {
  try {
    return value_(thread);
  } catch (const Fault& fault) {
    throw Error(bad_argument("the expression '", text_, "' ", fault.what, " for thread ", thread));
  }
}

}  // namespace rondo::program
