// Runs every operation with each operand in turn aligned differently from the others. The bits of the result
// must not depend on the alignment.
//
// A GPU faults on an access of 8 or 16 bytes at an address that is not a multiple of that size. The executor
// always checks this for cp.async, and for every wide load and store in a build with RONDO_CHECK_ALIGNMENT
// (the presets asan and tsan). A pack width that ignores one of the pointers therefore fails under tools/test
// asan, but may pass without it.
//
// The list of operations is read from the headers, so that no operation is missed.
#include <gtest/gtest.h>

#include <rondo/tests/kernels/declared_operations.h>
#include <rondo/tests/kernels/operations/operations.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace rondo::test {
namespace {

class Alignment : public testing::TestWithParam<Operation> {
 protected:
  std::vector<unsigned char> results(Operands&& operands) {
    EXPECT_TRUE(ok(GetParam().run(operands)));
    operand_count = operands.count();
    return operands.results();
  }
  int operand_count = 0;
};

TEST_P(Alignment, OfOneOperandDoesNotChangeTheResult) {
  const std::vector<unsigned char> want = results(Operands(0));
  ASSERT_FALSE(want.empty());
  const int operands = operand_count;
  for (int64_t offset = 0; offset < 4; ++offset) {
    EXPECT_TRUE(all_equal_bits(results(Operands(offset)), want)) << "all " << offset << " from alignment";
    for (int which = 0; which < (GetParam().long_arrays ? 1 : operands); ++which)
      for (int64_t other = 0; other < (GetParam().long_arrays ? 1 : 4); ++other)
        if (other != offset) {
          EXPECT_TRUE(all_equal_bits(results(Operands(offset, which, other)), want))
              << "operand " << which << " is " << other << " from alignment, the others " << offset;
        }
  }
}

TEST(AlignedOperations, CoverAllDeclaredOperations) {
  EXPECT_GT(declared_operations().size(), 30u);
  std::set<std::string> narrow;
  for (const Operation& operation : narrow_operations()) narrow.insert(operation.name);
  for (const std::string& name : declared_operations()) {
    const bool here = std::any_of(operations().begin(), operations().end(), [&](const Operation& operation) {
      return operation.name == name || operation.name.starts_with(name + "_");
    });
    EXPECT_NE(here, narrow.contains(name))
        << name << " must be in one of two lists of tests/kernels/operations: in operations() (flat.cpp and "
        << "others), or, if it accesses one element at a time, in narrow_operations() (data_and_losses.cpp)";
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Alignment, testing::ValuesIn(operations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace rondo::test
