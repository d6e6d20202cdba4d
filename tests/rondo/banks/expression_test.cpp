// Expressions of a thread's number: C's precedence and meaning, and the messages.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/banks/expression.h>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;

// The compiler computes the expected values from the same text.
#define EXPECT_AS_IN_C(...)                                           \
  do {                                                                \
    const Expression expression(#__VA_ARGS__);                        \
    for (int64_t thread = 0; thread < 32; ++thread)                   \
      ASSERT_EQ(expression.at(static_cast<int>(thread)), __VA_ARGS__) \
          << #__VA_ARGS__ << " for thread " << thread;                \
  } while (false)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"

TEST(Expression, MeansWhatItMeansInC) {
  EXPECT_AS_IN_C(thread);
  EXPECT_AS_IN_C(thread * 4 + thread / 8);
  EXPECT_AS_IN_C((thread / 8 * 32) ^ (thread % 8 * 4));
  EXPECT_AS_IN_C(2 + 3 * thread - 10 / 3 % 2);
  EXPECT_AS_IN_C(100 - thread - 3);
  EXPECT_AS_IN_C(100 / (thread + 1) / 2);
  EXPECT_AS_IN_C(-thread + +5 - -7);
  EXPECT_AS_IN_C(-7 / 2 + -7 % 4);
  EXPECT_AS_IN_C(~thread & 0x1F | thread << 3 ^ thread >> 1);
  EXPECT_AS_IN_C(1 << 2 + 1);
  EXPECT_AS_IN_C(thread & 3 == 3);
  EXPECT_AS_IN_C(thread ^ 5 & 6 | 8);
  EXPECT_AS_IN_C(thread < 16 == thread >= 4);
  EXPECT_AS_IN_C(thread <= 3 | thread != 7 & thread > 2);
  EXPECT_AS_IN_C(thread < 4 || thread > 9 && thread % 2 == 0);
  EXPECT_AS_IN_C(!thread + !!thread * 2);
  EXPECT_AS_IN_C(thread < 8 ? thread : thread < 16 ? 2 * thread : 0 - thread);
  EXPECT_AS_IN_C(thread % 2 ? thread / 2 ? 1 : 2 : 3);
  EXPECT_AS_IN_C(0XfF + 0x0 + 0);
}

#pragma GCC diagnostic pop

TEST(Expression, TheVariableHasFourNames) {
  for (const char* name : {"thread", "lane", "tx", "threadIdx.x"})
    EXPECT_EQ(Expression(concat("2 * ", name)).at(21), 42) << name;
}

TEST(Expression, SpacesDoNotMatter) {
  EXPECT_EQ(Expression("thread*4+1").at(5), 21);
  EXPECT_EQ(Expression("  thread\t* 4 +\n1 ").at(5), 21);
}

// The operand that && || ?: do not need is not computed.
TEST(Expression, SkipsWhatIsNotNeeded) {
  EXPECT_EQ(Expression("thread == 0 ? 7 : 64 / thread").at(0), 7);
  EXPECT_EQ(Expression("thread != 0 ? 64 / thread : 7").at(0), 7);
  EXPECT_EQ(Expression("thread != 0 && 64 / thread > 1").at(0), 0);
  EXPECT_EQ(Expression("thread == 0 || 64 / thread > 1").at(0), 1);
}

std::string refusal(const std::string& text) {
  return error_of([&] { Expression expression(text); });
}

TEST(Expression, NamesThePositionOfAMistake) {
  EXPECT_EQ(missing(refusal("thread * / 2"),
                    {"the expression 'thread * / 2' has '/' at character 10, must have a number"}),
            "");
  EXPECT_EQ(missing(refusal("thread 4"), {"has '4' at character 8, must have an operator"}), "");
  EXPECT_EQ(missing(refusal("thread *"), {"the expression 'thread *' ends where it must have a number"}), "");
  EXPECT_EQ(missing(refusal("(thread + 1"), {"ends where it must have an operator or ')'"}), "");
  EXPECT_EQ(missing(refusal("thread)"), {"has ')' at character 7, must have an operator"}), "");
  EXPECT_EQ(missing(refusal("thread ? 1"), {"ends where it must have an operator or ':'"}), "");
  EXPECT_EQ(missing(refusal("threads + 1"), {"has 'threads' at character 1", "thread, '('"}), "");
  EXPECT_EQ(missing(refusal("1 + min(thread, 3)"), {"has 'min' at character 5"}), "");
  EXPECT_EQ(missing(refusal("thread++"), {"has '+' at character 7, must have an operator"}), "");
  EXPECT_EQ(missing(refusal("2 * --thread"), {"has '-' at character 5, must have a number"}), "");
  EXPECT_EQ(missing(refusal("thread = 4"), {"has '=' at character 8, must have an operator"}), "");
  EXPECT_EQ(missing(refusal("thread \u00d7 4"), {"has '\u00d7' at character 8"}), "");
  for (const char* empty : {"", " ", "()", "?:"}) EXPECT_NE(refusal(empty), "") << empty;
}

TEST(Expression, Numbers) {
  EXPECT_EQ(Expression("9223372036854775807").at(0), INT64_MAX);
  EXPECT_EQ(Expression("0x7fffffffffffffff").at(0), INT64_MAX);
  for (const char* bad : {"9223372036854775808", "010", "1.5", "4f", "4u", "0x", "0xg", "1e3", "0b1", "12_3"})
    EXPECT_EQ(missing(refusal(concat("1 + ", bad)), {concat("has '", bad, "' at character 5")}), "");
}

TEST(Expression, NamesTheThreadThatCannotBeComputed) {
  const auto fault = [](const std::string& text, int thread) {
    return error_of([&] { Expression(text).at(thread); });
  };
  EXPECT_EQ(fault("64 / (thread - 3)", 3), "the expression '64 / (thread - 3)' divides by zero for thread 3");
  EXPECT_EQ(missing(fault("64 % thread", 0), {"divides by zero for thread 0"}), "");
  EXPECT_EQ(missing(fault("1 << thread - 1", 0), {"shifts by a number outside 0 to 63 for thread 0"}), "");
  EXPECT_EQ(missing(fault("1 >> 64", 9), {"shifts by a number outside 0 to 63 for thread 9"}), "");
  for (const char* text : {"0x7fffffffffffffff + thread", "-0x7fffffffffffffff - 1 - thread",
                           "0x7fffffffffffffff * (thread + 1)", "-(-0x7fffffffffffffff - thread)",
                           "(-0x7fffffffffffffff - 1) / -thread", "1 << 63", "3 << 62"})
    EXPECT_EQ(missing(fault(text, 1), {"overflows 64 bits for thread 1"}), "") << text;
  EXPECT_EQ(Expression("(-0x7fffffffffffffff - 1) % -1").at(0), 0);
  EXPECT_EQ(Expression("-1 << 63").at(0), INT64_MIN);
}

// The parser is recursive: its depth has a limit.
TEST(Expression, DeepNesting) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '(') + "thread" + std::string(depth, ')');
  };
  EXPECT_EQ(Expression(nested(497)).at(6), 6);
  EXPECT_EQ(missing(refusal(nested(498)), {"the expression has 1002 characters, must have at most 1000"}),
            "");
  EXPECT_EQ(Expression(std::string(994, '~') + "thread").at(6), 6);
  EXPECT_NE(refusal(std::string(1000, '(')), "");
}

}  // namespace
}  // namespace rondo::program
