// Operands of operators on bfloat16 and float16 data, beside the same operands in float32.
//
// The operators compute with floats, in the order in which the float32 operators do, and round a result once.
// So on the same values the bits must be those of the float32 operator, rounded to nearest even. Sizes and
// alignments are drawn, and include tails and misalignment by one element. With `aligned` all operands begin
// at a multiple of 16 bytes, so that the widest accesses run; otherwise each has its own alignment.
#pragma once

#include <gtest/gtest.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace rondo::test {

using Floats = std::vector<float>;
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// An operand in both types, with the same values.
template <class Narrow>
struct Operand {
  Operand(const Floats& values, int64_t offset)
      : narrow(rounded<Narrow>(values), offset), wide(as_floats(rounded<Narrow>(values)), offset) {}
  Operand(int64_t size, int64_t offset) : narrow(size, offset), wide(size, offset) {}

  testing::AssertionResult agrees() const {
    return all_equal_bits(as_floats(narrow.download()), as_floats(rounded<Narrow>(wide.download())));
  }

  GuardedBuffer<Narrow> narrow;
  GuardedBuffer<float> wide;
};

// The buffer of `operand` with elements of type T.
template <class T, class Narrow>
GuardedBuffer<T>& of(Operand<Narrow>& operand) {
  if constexpr (std::is_same_v<T, float>)
    return operand.wide;
  else
    return operand.narrow;
}

template <class Narrow>
class NarrowOperands : public testing::Test {
 protected:
  using Op = Operand<Narrow>;

  Op input(int64_t size, bool positive = false) {
    Floats values = normal_values(size, random.next());
    if (positive)
      for (float& value : values) value = std::max(value, 0.0f);
    return {values, offset()};
  }
  Op output(int64_t size) { return {size, offset()}; }
  int64_t offset() { return aligned ? 0 : random.below(9); }
  // 1 and sizes around the widths of an access are drawn more often than others.
  int64_t side(int64_t most) {
    constexpr int64_t kOften[] = {1, 2, 7, 8, 9, 16, 17, 32};
    const int64_t often = kOften[random.below(8)];
    return random.below(2) == 0 && often <= most ? often : 1 + random.below(most);
  }
  // Channels or columns that allow accesses of 8, 4 or 2 elements and no wider ones, if the operands are
  // aligned, or any number; in turns.
  int64_t channels(int turn) {
    switch (turn % 4) {
      case 0:
        return 8 * (1 + random.below(4));
      case 1:
        return 4 * (1 + 2 * random.below(5));
      case 2:
        return 2 * (1 + 2 * random.below(10));
    }
    return side(40);
  }
  // Runs operation(T{}) for both types.
  template <class Operation>
  void run(Operation operation) {
    ASSERT_TRUE(ok(operation(float{})));
    ASSERT_TRUE(ok(operation(Narrow{})));
  }

  Random random{11};
  bool aligned = false;
  Stream stream;
};

struct NameOfType {
  template <class T>
  static std::string GetName(int) {
    return name_of(dtype_of<T>);
  }
};
using NarrowTypes = testing::Types<__nv_bfloat16, __half>;

}  // namespace rondo::test
