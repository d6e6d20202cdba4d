// The quotients and remainders of Divisor.
#include <gtest/gtest.h>
#include <rondo/kernels/core/divisor.h>

#include <climits>
#include <random>
#include <vector>

namespace rondo {
namespace {

// Numbers beside powers of two, where a factor that is one too small or too large shows, and drawn ones.
std::vector<int> numbers() {
  std::vector<int> numbers = {0, INT_MAX, INT_MAX - 1};
  for (int bit = 0; bit < 31; ++bit)
    for (int more = -2; more <= 2; ++more)
      if (const int64_t number = (int64_t{1} << bit) + more; number >= 0 && number <= INT_MAX)
        numbers.push_back(static_cast<int>(number));
  std::mt19937 draw(1);
  for (int i = 0; i < 300; ++i) numbers.push_back(static_cast<int>(draw() >> (1 + draw() % 30)));
  return numbers;
}

TEST(Divisor, DividesAsTheOperator) {
  for (const int divisor : numbers()) {
    if (divisor == 0) continue;
    const Divisor by(divisor);
    const auto check = [&](int number) {
      const auto [quotient, remainder] = by.divide(number);
      ASSERT_EQ(quotient, number / divisor) << number << " / " << divisor;
      ASSERT_EQ(remainder, number % divisor) << number << " / " << divisor;
    };
    for (const int number : numbers()) check(number);
    // Beside multiples of the divisor.
    for (const int64_t times : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{INT_MAX / divisor}})
      for (const int64_t number : {times * divisor - 1, times * divisor, times * divisor + 1})
        if (number <= INT_MAX) check(static_cast<int>(number));
  }
}

TEST(Divisor, IsOneByDefault) {
  const auto [quotient, remainder] = Divisor().divide(INT_MAX);
  EXPECT_EQ(quotient, INT_MAX);
  EXPECT_EQ(remainder, 0);
}

}  // namespace
}  // namespace rondo
