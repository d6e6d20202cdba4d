// Buffer: its contents change whole, or not at all.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace rondo {
namespace {

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::bad_argument);
    return error.what();
  }
  return "taken";
}

TEST(Buffer, TakesAsManyElementsAsItHas) {
  const std::vector<int32_t> kept = {1, 2, 3};
  Buffer<int32_t> buffer(kept);
  for (const size_t size : {0, 2, 4}) {
    const std::vector<int32_t> other(size, 9);
    EXPECT_EQ(refusal_of([&] { buffer.upload(other); }),
              concat("upload of ", size, " elements into a buffer of 3"));
    EXPECT_EQ(buffer.download(), kept);
  }
  buffer.upload(std::vector<int32_t>{4, 5, 6});
  EXPECT_EQ(buffer.download(), (std::vector<int32_t>{4, 5, 6}));
  buffer.fill_bytes(0xff);
  EXPECT_EQ(buffer.download(), (std::vector<int32_t>{-1, -1, -1}));
  Buffer<int32_t> empty(0);
  empty.upload({});
  EXPECT_EQ(refusal_of([&] { empty.upload(kept); }), "upload of 3 elements into a buffer of 0");
}

// Such sizes come from saturated products, which are no one's number.
TEST(Buffer, ASaturatedSizeIsNotNamed) {
  try {
    Buffer<char>(std::numeric_limits<int64_t>::max());
    FAIL() << "it was allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
    EXPECT_STREQ(error.what(), "allocating device memory: more than 2^57 bytes");
  }
}

TEST(Buffer, HasNoNegativeSize) {
  EXPECT_EQ(refusal_of([] { Buffer<int32_t>(int64_t{-1}); }), "allocating -1 elements of device memory");
}

}  // namespace
}  // namespace rondo
