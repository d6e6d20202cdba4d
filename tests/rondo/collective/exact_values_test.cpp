#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/tools/rondo/collective/exact_values.h>

#include <algorithm>
#include <limits>

namespace rondo::program {
namespace {

using test::ok;

constexpr int64_t kSize = 3001;

template <class T>
std::vector<T> input_of(const ExactData& data, int rank) {
  Buffer<T> buffer(kSize);
  Stream stream;
  EXPECT_TRUE(ok(fill_exact(DataView(buffer.data(), kSize, dtype_of<T>), data, rank, stream)));
  stream.synchronize();
  return buffer.download();
}

template <class T>
int64_t wrong_in(const std::vector<T>& output, const ExactData& data,
                 const Origin& origin = {.block = kSize}) {
  const Buffer<T> buffer(output);
  Buffer<unsigned long long> wrong(1);
  wrong.fill_bytes(0);
  Stream stream;
  EXPECT_TRUE(
      ok(count_wrong(wrong.data(), {buffer.data(), buffer.size(), dtype_of<T>}, data, origin, stream)));
  stream.synchronize();
  return static_cast<int64_t>(wrong.download()[0]);
}

// The definition in reduction.h: reduces in the given order, with partial results in the accumulator's type.
template <class T, class Partial>
T reduced(Reduction reduction, const std::vector<std::vector<T>>& inputs, const std::vector<size_t>& order,
          size_t i) {
  auto sum = static_cast<Partial>(inputs[order[0]][i]);
  for (size_t k = 1; k < order.size(); ++k) {
    const auto x = static_cast<Partial>(inputs[order[k]][i]);
    if constexpr (std::is_integral_v<T>) {  // unsigned: wraps
      const auto a = static_cast<uint64_t>(sum), b = static_cast<uint64_t>(x);
      sum = reduction == Reduction::product ? static_cast<Partial>(a * b)
            : reduction == Reduction::min   ? std::min(sum, x)
            : reduction == Reduction::max   ? std::max(sum, x)
                                            : static_cast<Partial>(a + b);
    } else {
      sum = reduction == Reduction::product ? sum * x
            : reduction == Reduction::min   ? std::min(sum, x)
            : reduction == Reduction::max   ? std::max(sum, x)
                                            : sum + x;
    }
  }
  if (reduction == Reduction::average) sum = sum / static_cast<Partial>(order.size());
  return static_cast<T>(sum);
}

template <class T>
struct ExactValues : ::testing::Test {
  using Partial =
      std::conditional_t<std::is_integral_v<T>, int64_t, std::conditional_t<sizeof(T) == 8, double, float>>;

  static std::vector<T> result(const ExactData& data, bool backwards) {
    std::vector<std::vector<T>> inputs;
    std::vector<size_t> order;
    for (int rank = 0; rank < data.ranks; ++rank) {
      inputs.push_back(input_of<T>(data, rank));
      order.push_back(static_cast<size_t>(rank));
    }
    if (backwards) std::reverse(order.begin(), order.end());
    std::vector<T> all;
    for (size_t i = 0; i < kSize; ++i) all.push_back(reduced<T, Partial>(*data.reduction, inputs, order, i));
    return all;
  }
};
using AllTypes = ::testing::Types<float, double, __nv_bfloat16, __half, int32_t, int64_t, uint8_t>;
TYPED_TEST_SUITE(ExactValues, AllTypes);

TYPED_TEST(ExactValues, TheResultIsKnownInEveryOrder) {
  for (const Reduction reduction : kReductions) {
    for (const int ranks : {1, 2, 3, 8, 64}) {
      const ExactData data{.reduction = reduction, .ranks = ranks, .seed = static_cast<uint64_t>(ranks)};
      for (const bool backwards : {false, true}) {
        EXPECT_EQ(wrong_in(TestFixture::result(data, backwards), data), 0)
            << name_of(reduction) << ", " << ranks << " ranks, backwards " << backwards;
      }
    }
  }
}

TYPED_TEST(ExactValues, EveryWrongElementIsCounted) {
  const ExactData data{.reduction = Reduction::sum, .ranks = 3, .seed = 5};
  std::vector<TypeParam> output = this->result(data, false);
  for (const size_t i : {size_t{0}, size_t{17}, size_t{kSize - 1}})
    output[i] = static_cast<TypeParam>(static_cast<float>(output[i]) == 1.0f ? 2.0f : 1.0f);
  EXPECT_EQ(wrong_in(output, data), 3);
}

// A sum without one rank, or with one rank twice, is wrong in nearly all elements. So is the result of
// another seed.
TYPED_TEST(ExactValues, WrongResultsAreDetected) {
  constexpr int kRanks = 8;
  for (const Reduction reduction : kReductions) {
    const ExactData data{.reduction = reduction, .ranks = kRanks, .seed = 9};
    const std::vector<TypeParam> right = this->result(data, false);
    EXPECT_GT(wrong_in(right, {.reduction = reduction, .ranks = kRanks, .seed = 10}), kSize / 2)
        << name_of(reduction);
    std::vector<TypeParam> shifted = right;
    std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
    EXPECT_GT(wrong_in(shifted, data), kSize / 2) << name_of(reduction);
    std::vector<std::vector<TypeParam>> inputs;
    for (int rank = 0; rank < kRanks; ++rank) inputs.push_back(input_of<TypeParam>(data, rank));
    for (size_t missing = 0; missing < kRanks; ++missing) {
      std::vector<size_t> order = {0, 1, 2, 3, 4, 5, 6, 7};
      order[missing] = (missing + 1) % kRanks;  // this rank is then in the sum twice
      std::vector<TypeParam> output;
      for (size_t i = 0; i < kSize; ++i)
        output.push_back(reduced<TypeParam, typename TestFixture::Partial>(reduction, inputs, order, i));
      EXPECT_GT(wrong_in(output, data), kSize / 20) << name_of(reduction) << " without rank " << missing;
    }
  }
}

TYPED_TEST(ExactValues, MovedDataIsKnownByItsRankAndIndex) {
  const ExactData data{.ranks = 4, .seed = 3};
  const std::vector<TypeParam> one = input_of<TypeParam>(data, 1), two = input_of<TypeParam>(data, 2);
  EXPECT_EQ(wrong_in(one, data, {.block = kSize, .first_rank = 1}), 0);
  EXPECT_GT(wrong_in(one, data, {.block = kSize, .first_rank = 2}), kSize / 2);
  // Elements 100 to 109 of rank 1, then elements 100 to 109 of rank 2.
  std::vector<TypeParam> gathered(one.begin() + 100, one.begin() + 110);
  gathered.insert(gathered.end(), two.begin() + 100, two.begin() + 110);
  EXPECT_EQ(wrong_in(gathered, data, {.block = 10, .first_index = 100, .first_rank = 1}), 0);
  std::swap(gathered[3], gathered[13]);
  EXPECT_EQ(wrong_in(gathered, data, {.block = 10, .first_index = 100, .first_rank = 1}), 2);
}

TEST(ExactValuesOfFloats, NotANumberIsWrong) {
  const ExactData data{.reduction = Reduction::max, .ranks = 2, .seed = 1};
  std::vector<float> output = ExactValues<float>::result(data, false);
  output[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(wrong_in(output, data), 1);
}

}  // namespace
}  // namespace rondo::program
