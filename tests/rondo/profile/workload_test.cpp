// Sizes of `rondo profile` whose products do not fit in 64 bits.
#include <gtest/gtest.h>

#include <rondo/kernels/core/status.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/profile/workload.h>

namespace rondo::program {
namespace {

constexpr int64_t kMostOfAnOption = int64_t{1} << 31;  // of every option

// The arguments are refused as too large for the memory.
void expect_too_large(const ProfileArguments& arguments) {
  try {
    make_workloads(arguments);
    FAIL() << "a workload of this size";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources) << error.what();
    EXPECT_EQ(test::missing(error.what(), {"allocating", "more than 2^57 bytes"}), "");
  }
}

// 2^31 x 2^31 x 4 = 2^64, which wraps to no element at all; x 2 wraps to a negative number.
TEST(ProfileWorkload, ProductsOfSizesDoNotWrap) {
  for (const DType type : {DType::float32, DType::bfloat16, DType::float16})
    for (const int64_t width : {int64_t{4}, int64_t{2}, kMostOfAnOption}) {
      ProfileArguments a;
      a.type = type;
      a.images = a.height = kMostOfAnOption;
      a.width = width;
      a.channels = 1;
      a.filters = a.filter_size = a.window = 1;
      a.pool_stride = 1;
      a.pad = a.pool_pad = 0;
      for (const ProfiledWork work : {ProfiledWork::conv, ProfiledWork::pool}) {
        a.work = work;
        expect_too_large(a);
      }
    }
}

TEST(ProfileWorkload, ProductsOfFilterSizesDoNotWrap) {
  ProfileArguments a;
  a.work = ProfiledWork::conv;
  a.images = a.height = a.width = 1;
  a.pad = kMostOfAnOption / 2;
  a.stride = kMostOfAnOption;
  a.filter_size = kMostOfAnOption;
  a.filters = 4;
  a.channels = 1;
  expect_too_large(a);
}

}  // namespace
}  // namespace rondo::program
