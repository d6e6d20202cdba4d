#include <gtest/gtest.h>

#include <rondo/kernels/core/view.h>

namespace rondo::test {
namespace {

// A writable view converts to a read-only view, but not the other way round.
template <template <class> class View>
constexpr bool converts_one_way = std::is_convertible_v<View<float>, View<const float>> &&
                                  !std::is_convertible_v<View<const float>, View<float>> &&
                                  !std::is_convertible_v<View<float>, View<const int>>;
static_assert(converts_one_way<VectorView>);
static_assert(converts_one_way<MatrixView>);
static_assert(converts_one_way<ImageView>);
static_assert(converts_one_way<FilterView>);

// Views are passed to kernels by value.
static_assert(std::is_trivially_copyable_v<MatrixView<float>> && std::is_aggregate_v<MatrixView<float>>);
static_assert(std::is_trivially_copyable_v<ImageView<float>> && std::is_aggregate_v<ImageView<float>>);

TEST(View, ConversionKeepsEveryMember) {
  float data[1];
  const VectorView<const float> vector = VectorView<float>{data, 5};
  EXPECT_EQ(vector.data, data);
  EXPECT_EQ(vector.size, 5);

  const MatrixView<const float> matrix = MatrixView<float>{data, 2, 3, 4};
  EXPECT_EQ(matrix.data, data);
  EXPECT_EQ(matrix.rows, 2);
  EXPECT_EQ(matrix.cols, 3);
  EXPECT_EQ(matrix.stride, 4);

  const ImageView<const float> image = ImageView<float>{data, 2, 3, 4, 5};
  EXPECT_EQ(image.data, data);
  EXPECT_EQ(image.images, 2);
  EXPECT_EQ(image.height, 3);
  EXPECT_EQ(image.width, 4);
  EXPECT_EQ(image.channels, 5);

  const FilterView<const float> filter = FilterView<float>{data, 2, 3, 4, 5};
  EXPECT_EQ(filter.data, data);
  EXPECT_EQ(filter.out_channels, 2);
  EXPECT_EQ(filter.height, 3);
  EXPECT_EQ(filter.width, 4);
  EXPECT_EQ(filter.in_channels, 5);
}

TEST(View, DenseMatrixHasItsColumnsAsStride) {
  float data[6];
  const MatrixView<float> view = matrix(data, 2, 3);
  EXPECT_EQ(view.rows, 2);
  EXPECT_EQ(view.cols, 3);
  EXPECT_EQ(view.stride, 3);
}

TEST(View, StrideDefaultsToTheColumns) {
  float data[6];
  const MatrixView<float> view = {data, 2, 3};
  EXPECT_EQ(view.stride, 3);
}

// Every side counts once: no two are equal.
TEST(View, SizesAreTheProductsOfAllSides) {
  EXPECT_EQ((ImageView<float>{nullptr, 2, 3, 5, 7}).size(), 210);
  EXPECT_EQ((FilterView<float>{nullptr, 2, 3, 5, 7}).size(), 210);
  for (int side = 0; side < 4; ++side) {
    int64_t sides[4] = {2, 3, 5, 7};
    sides[side] = 0;
    EXPECT_EQ((ImageView<float>{nullptr, sides[0], sides[1], sides[2], sides[3]}).size(), 0) << side;
    EXPECT_EQ((FilterView<float>{nullptr, sides[0], sides[1], sides[2], sides[3]}).size(), 0) << side;
  }
}

TEST(View, SizesHave64Bits) {
  const ImageView<float> image = {nullptr, 1 << 20, 1 << 10, 1 << 10, 1 << 4};
  EXPECT_EQ(image.size(), int64_t{1} << 44);
  const FilterView<float> filter = {nullptr, 1 << 15, 1 << 10, 1 << 10, 1 << 4};
  EXPECT_EQ(filter.size(), int64_t{1} << 39);
}

}  // namespace
}  // namespace rondo::test
