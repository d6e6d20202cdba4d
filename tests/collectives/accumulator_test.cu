// accumulator_of() returns at run time the type that Arithmetic<T, R>::Accumulator has at compile time.
#include <gtest/gtest.h>

#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/collectives/reduce/arithmetic.cuh>

namespace rondo::test {
namespace {

template <class T, Reduction R>
void expect_agreement() {
  EXPECT_EQ(accumulator_of(dtype_of<T>, R), (dtype_of<typename Arithmetic<T, R>::Accumulator>))
      << name_of(dtype_of<T>) << ", " << name_of(R);
}

TEST(Accumulator, IsTheKernels) {
  for (const DType dtype : kDTypes)
    visit(dtype, [](auto element) {
      using T = decltype(element);
      expect_agreement<T, Reduction::sum>();
      expect_agreement<T, Reduction::product>();
      expect_agreement<T, Reduction::min>();
      expect_agreement<T, Reduction::max>();
      expect_agreement<T, Reduction::average>();
    });
}

}  // namespace
}  // namespace rondo::test
