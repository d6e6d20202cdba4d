// Expression: an integer expression of a thread's number in its warp, as in `tile[(thread / 8 * 32) ^ 4]`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace rondo::program {

// The variable is written thread, lane, tx or threadIdx.x. Numbers are decimal or hexadecimal (0x1F). The
// operators ?: || && | ^ & == != < <= > >= << >> + - * / % ! ~ and parentheses have the precedence and the
// meaning of C, with 64-bit integers: division rounds towards zero, and the operand that && || ?: do not need
// is not computed.
class Expression {
 public:
  // Throws a bad_argument Error that names the position of a mistake and what is valid there.
  explicit Expression(const std::string& text);

  // Throws a bad_argument Error that names the thread if the expression divides by zero, overflows, or shifts
  // by a number outside 0 to 63.
  int64_t at(int thread) const;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::function<int64_t(int64_t thread)> value_;
};

}  // namespace rondo::program
