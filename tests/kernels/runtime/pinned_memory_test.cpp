// PinnedMemory: is freed at its end, unless it is abandoned.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/pinned_memory.h>

#include <string>
#include <utility>

namespace rondo {
namespace {

bool is_pinned(const void* memory) {
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
  return attributes.type == cudaMemoryTypeHost;
}

TEST(PinnedMemory, IsFreedAtItsEnd) {
  const std::byte *first = nullptr, *second = nullptr;
  {
    PinnedMemory memory(100, "for a test");
    first = memory.data();
    EXPECT_EQ(memory.bytes(), 100);
    EXPECT_TRUE(is_pinned(first));
    PinnedMemory moved = std::move(memory);
    EXPECT_EQ(moved.data(), first);
    EXPECT_EQ(moved.bytes(), 100);
    EXPECT_EQ(memory.data(), nullptr);
    EXPECT_EQ(memory.bytes(), 0);
    EXPECT_TRUE(is_pinned(first));
    memory = PinnedMemory(200, "for a test");
    second = memory.data();
    EXPECT_TRUE(is_pinned(second));
    moved = {};
    EXPECT_EQ(moved.bytes(), 0);
    EXPECT_FALSE(is_pinned(first));
  }
  EXPECT_FALSE(is_pinned(second));
}

TEST(PinnedMemory, StaysIfItIsAbandoned) {
  std::byte* memory = nullptr;
  {
    PinnedMemory abandoned(64, "for a test");
    memory = abandoned.data();
    abandoned.abandon();
    EXPECT_EQ(abandoned.bytes(), 0);
  }
  EXPECT_TRUE(is_pinned(memory));
  EXPECT_EQ(cudaFreeHost(memory), cudaSuccess);
}

TEST(PinnedMemory, SaysWhatItIsFor) {
  constexpr int64_t kTooMany = int64_t{1} << 60;
  try {
    const PinnedMemory memory(kTooMany, "for a test");
    ADD_FAILURE() << "allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
    const std::string want = concat("allocating ", kTooMany, " bytes of pinned host memory for a test");
    EXPECT_EQ(std::string(error.what()).substr(0, want.size()), want);
  }
  EXPECT_EQ(PinnedMemory().data(), nullptr);
  EXPECT_EQ(PinnedMemory().bytes(), 0);
}

}  // namespace
}  // namespace rondo
