#include <gtest/gtest.h>

#include <rondo/kernels/core/buffer.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tests/support/status_checks.h>

namespace rondo::test {
namespace {

TEST(Status, IsOkAndSilentByDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::ok);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, BadArgumentJoinsItsParts) {
  const Status status = bad_argument("gemm: lda is ", int64_t{1} << 40, ", must be at least ", 2.5);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::bad_argument);
  EXPECT_EQ(status.message(), "gemm: lda is 1099511627776, must be at least 2.5");
}

TEST(Status, EveryKindHasAName) {
  EXPECT_STREQ(name_of(StatusCode::ok), "ok");
  EXPECT_STREQ(name_of(StatusCode::bad_argument), "bad argument");
  EXPECT_STREQ(name_of(StatusCode::out_of_resources), "out of resources");
  EXPECT_STREQ(name_of(StatusCode::device_failed), "device failed");
}

TEST(Status, KindOfACudaError) {
  EXPECT_TRUE(from_cuda(cudaSuccess, "nothing").ok());
  EXPECT_EQ(from_cuda(cudaErrorMemoryAllocation, "x").code(), StatusCode::out_of_resources);
  EXPECT_EQ(from_cuda(cudaErrorInvalidValue, "x").code(), StatusCode::bad_argument);
  EXPECT_EQ(from_cuda(cudaErrorInvalidDevice, "x").code(), StatusCode::bad_argument);
  EXPECT_EQ(from_cuda(cudaErrorIllegalAddress, "x").code(), StatusCode::device_failed);
  EXPECT_EQ(from_cuda(cudaErrorLaunchFailure, "x").code(), StatusCode::device_failed);
}

TEST(Status, CudaMessageSaysWhatWasTriedAndWhy) {
  const Status status = from_cuda(cudaErrorMemoryAllocation, "allocating 12 bytes");
  EXPECT_NE(status.message().find("allocating 12 bytes: "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("cudaErrorMemoryAllocation"), std::string::npos) << status.message();
}

// An error that a caller was told about must not be blamed on the next call.
TEST(Status, FromCudaClearsTheLastError) {
  const Status status = from_cuda(cudaSetDevice(1 << 20), "choosing a device");
  EXPECT_EQ(status.code(), StatusCode::bad_argument);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Status, ReturnIfErrorReturnsTheFirstOne) {
  int reached = 0;
  const auto two_steps = [&](const Status& first) -> Status {
    RONDO_RETURN_IF_ERROR(first);
    ++reached;
    return bad_argument("second");
  };
  EXPECT_EQ(two_steps(bad_argument("first")).message(), "first");
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(two_steps(Status()).message(), "second");
  EXPECT_EQ(reached, 1);
}

TEST(Status, ErrorCarriesIt) {
  EXPECT_NO_THROW(throw_if_error(Status()));
  try {
    throw_if_error(Status(StatusCode::out_of_resources, "no memory"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no memory");
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
  }
}

TEST(Buffer, TooMuchMemoryIsOutOfResourcesAndSaysHowMuch) {
  try {
    const Buffer<float> buffer(int64_t{1} << 50);
    FAIL() << "4 PiB were allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
    EXPECT_NE(std::string(error.what()).find("4503599627370496"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(Buffer<float>(std::vector<float>{1, 2}).download(), (std::vector<float>{1, 2}));
}

TEST(Check, Views) {
  float values[8] = {};
  auto* misaligned = reinterpret_cast<float*>(reinterpret_cast<char*>(values) + 2);
  EXPECT_TRUE(ok(check_view("op", "x", VectorView<float>{values, 8})));
  EXPECT_TRUE(ok(check_view("op", "x", VectorView<float>{nullptr, 0})));
  EXPECT_TRUE(refused(check_view("op", "x", VectorView<float>{values, -1}), "op: x.size is -1"));
  EXPECT_TRUE(refused(check_view("op", "x", VectorView<float>{nullptr, 3}), "op: x is null with 3 elements"));
  EXPECT_TRUE(refused(check_view("op", "x", VectorView<float>{misaligned, 1}), "must be aligned to 4 bytes"));

  EXPECT_TRUE(ok(check_view("op", "a", MatrixView<float>{values, 2, 3, 4})));
  EXPECT_TRUE(ok(check_view("op", "a", MatrixView<float>{nullptr, 0, 3, 4})));
  EXPECT_TRUE(refused(check_view("op", "a", MatrixView<float>{values, 2, 3, 2}), "a.stride is 2"));
  EXPECT_TRUE(refused(check_view("op", "a", MatrixView<float>{values, -2, 3, 3}), "a is -2 x 3"));
  EXPECT_TRUE(refused(check_view("op", "a", MatrixView<float>{nullptr, 2, 3, 3}), "a is null"));

  EXPECT_TRUE(ok(check_view("op", "x", ImageView<float>{values, 1, 2, 2, 2})));
  EXPECT_TRUE(refused(check_view("op", "x", ImageView<float>{values, 1, 2, -2, 2}), "x is 1 x 2 x -2 x 2"));
  EXPECT_TRUE(refused(check_view("op", "x", ImageView<float>{nullptr, 1, 2, 2, 2}), "x is null"));
}

TEST(Check, Workspace) {
  double memory[2];
  EXPECT_TRUE(ok(check_workspace("op", Workspace{memory, 16}, 16, 8)));
  EXPECT_TRUE(ok(check_workspace("op", Workspace{}, 0, 8)));
  EXPECT_TRUE(
      refused(check_workspace("op", Workspace{memory, 15}, 16, 8), "has 15 bytes, must have at least 16"));
  EXPECT_TRUE(refused(check_workspace("op", Workspace{nullptr, 16}, 16, 8), "workspace is null"));
  EXPECT_TRUE(refused(check_workspace("op", Workspace{reinterpret_cast<char*>(memory) + 4, 16}, 8, 8),
                      "must be aligned to 8 bytes"));
}

}  // namespace
}  // namespace rondo::test
