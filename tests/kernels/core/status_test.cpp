#include <gtest/gtest.h>

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/support/status_checks.h>

#ifdef __SIMT__
#include <simt/faults.h>
#endif

#include <set>

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

// By CUDA's numbers, from the documentation of cudaError_t: after these nothing works any more, because the
// driver does not start, or "the process must be terminated and relaunched". Codes that no toolkit has yet
// are bad arguments.
TEST(Status, KindOfEveryCudaError) {
  EXPECT_TRUE(from_cuda(cudaSuccess, "nothing").ok());
  const std::set<int> out_of_resources = {2, 701},
                      device_failed = {3,   35,  46,  214, 220, 226, 700, 702, 709, 710, 714,
                                       715, 716, 717, 718, 719, 721, 802, 803, 810, 911, 999};
  for (int code = 1; code < 1000; ++code) {
    const StatusCode want = out_of_resources.contains(code) ? StatusCode::out_of_resources
                            : device_failed.contains(code)  ? StatusCode::device_failed
                                                            : StatusCode::bad_argument;
    const auto error = static_cast<cudaError_t>(code);
    EXPECT_EQ(from_cuda(error, "x").code(), want) << code << ", " << cudaGetErrorName(error);
  }
}

TEST(Status, CudaMessageHasTheCallAndTheReason) {
  const Status status = from_cuda(cudaErrorMemoryAllocation, "allocating 12 bytes");
  EXPECT_NE(status.message().find("allocating 12 bytes: "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("cudaErrorMemoryAllocation"), std::string::npos) << status.message();
}

TEST(Status, AProgramWithoutTheDevicesKernelsNamesDeviceAndOption) {
  cudaDeviceProp device;
  ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
  const std::string capability = concat(device.major, ".", device.minor),
                    option = concat("-DCMAKE_CUDA_ARCHITECTURES=", device.major, device.minor, " ");
  for (const cudaError_t error :
       {cudaErrorNoKernelImageForDevice, cudaErrorInvalidDeviceFunction, cudaErrorUnsupportedPtxVersion}) {
    const Status status = from_cuda(error, "gemm");
    EXPECT_EQ(status.code(), StatusCode::bad_argument);
    for (const std::string& part : {std::string("gemm: "), std::string(device.name), capability, option,
                                    std::string(cudaGetErrorName(error))})
      EXPECT_NE(status.message().find(part), std::string::npos) << part << ": " << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  }
  EXPECT_EQ(from_cuda(cudaErrorInvalidValue, "gemm").message().find("CMAKE"), std::string::npos);
}

// An error that was reported to the caller must not be reported again by the next call.
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

TEST(Status, ErrorHoldsTheStatus) {
  EXPECT_NO_THROW(throw_if_error(Status()));
  try {
    throw_if_error(Status(StatusCode::out_of_resources, "no memory"));
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no memory");
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
  }
}

TEST(Buffer, TooMuchMemoryIsOutOfResourcesWithTheSize) {
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

// The result of a check of one operand.
template <class View>
Status check_input(const char* name, const View& view) {
  ArgumentCheck check("op");
  check.input(name, view);
  return check.status();
}

TEST(ArgumentCheck, Views) {
  Buffer<float> memory(8);
  float* const values = memory.data();
  auto* misaligned = reinterpret_cast<float*>(reinterpret_cast<char*>(values) + 2);
  EXPECT_TRUE(ok(check_input("x", VectorView<float>{values, 8})));
  EXPECT_TRUE(ok(check_input("x", VectorView<float>{nullptr, 0})));
  EXPECT_TRUE(refused(check_input("x", VectorView<float>{values, -1}), "op: x.size is -1"));
  EXPECT_TRUE(refused(check_input("x", VectorView<float>{nullptr, 3}), "op: x is null with 3 elements"));
  EXPECT_TRUE(refused(check_input("x", VectorView<float>{misaligned, 1}), "must be aligned to 4 bytes"));

  EXPECT_TRUE(ok(check_input("a", MatrixView<float>{values, 2, 3, 4})));
  EXPECT_TRUE(ok(check_input("a", MatrixView<float>{nullptr, 0, 3, 4})));
  EXPECT_TRUE(refused(check_input("a", MatrixView<float>{values, 2, 3, 2}), "a.stride is 2"));
  EXPECT_TRUE(refused(check_input("a", MatrixView<float>{values, -2, 3, 3}), "a is -2 x 3"));
  EXPECT_TRUE(refused(check_input("a", MatrixView<float>{nullptr, 2, 3, 3}), "a is null"));

  EXPECT_TRUE(ok(check_input("x", ImageView<float>{values, 1, 2, 2, 2})));
  EXPECT_TRUE(refused(check_input("x", ImageView<float>{values, 1, 2, -2, 2}), "x is 1 x 2 x -2 x 2"));
  EXPECT_TRUE(refused(check_input("x", ImageView<float>{nullptr, 1, 2, 2, 2}), "x is null"));
  EXPECT_TRUE(refused(check_input("f", FilterView<float>{values, 1, 2, 2, -2}), "f is 1 x 2 x 2 x -2"));
}

TEST(ArgumentCheck, SizesWhoseProductOverflows) {
  Buffer<float> memory(8);
  float* const values = memory.data();
  auto* const values_of_8_bytes = reinterpret_cast<double*>(values);
  constexpr int64_t kHuge = int64_t{1} << 62;
  const auto refuses = [&](const auto& view) {
    EXPECT_TRUE(refused(check_input("x", view), "must span at most 2^57 bytes"));
  };
  refuses(VectorView<float>{values, kHuge});
  refuses(VectorView<float>{values, (int64_t{1} << 55) + 1});
  // Bytes that are 0 or 4 beyond a multiple of 2^64.
  refuses(VectorView<float>{values, kHuge + 1});
  refuses(MatrixView<float>{values, int64_t{1} << 31, int64_t{1} << 31});
  refuses(MatrixView<double>{values_of_8_bytes, (int64_t{1} << 61) + 1, 1});
  refuses(ImageView<float>{values, int64_t{1} << 31, 1 << 16, 1 << 15, 1});
  refuses(FilterView<float>{values, 1, int64_t{1} << 31, int64_t{1} << 31, 1});
  refuses(MatrixView<float>{values, kHuge, 4});
  refuses(MatrixView<float>{values, 2, 3, kHuge});
  refuses(MatrixView<float>{values, 1, 3, kHuge});
  refuses(ImageView<float>{values, kHuge, 2, 2, 1});
  refuses(
      ImageView<float>{values, 0, int64_t{1} << 31, int64_t{1} << 31, 4});  // no images, but a huge sample
  refuses(FilterView<float>{values, int64_t{1} << 31, int64_t{1} << 31, 4, 1});
  EXPECT_FALSE(refused(check_input("x", VectorView<float>{values, int64_t{1} << 55}), "must span"));
  EXPECT_EQ(saturating_product({kHuge, 4}), INT64_MAX);
  EXPECT_EQ(saturating_product({kHuge, 0, 4}), 0);
  EXPECT_EQ(saturating_product({INT64_MAX, 1}), INT64_MAX);
  EXPECT_EQ(saturating_product({INT64_MAX / 2, 2}), INT64_MAX - 1);
  EXPECT_EQ(saturating_product({int64_t{1} << 31, int64_t{1} << 31}), kHuge);
}

TEST(ArgumentCheck, Overlaps) {
  Buffer<float> buffer(64);
  float* const memory = buffer.data();
  const auto check_two = [&](const auto& y, const auto& x, ArgumentCheck::Names may_be) {
    ArgumentCheck check("op");
    check.output("y", y, may_be);
    check.input("x", x);
    return check.status();
  };
  const auto vector = [&](int64_t begin, int64_t size) { return VectorView<float>{memory + begin, size}; };
  EXPECT_TRUE(ok(check_two(vector(0, 8), vector(8, 8), {})));
  EXPECT_TRUE(ok(check_two(vector(8, 8), vector(0, 8), {})));
  EXPECT_TRUE(ok(check_two(vector(0, 8), vector(4, 0), {})));
  EXPECT_TRUE(refused(check_two(vector(0, 8), vector(0, 8), {}), "op: y overlaps x, must lie apart"));
  EXPECT_TRUE(refused(check_two(vector(0, 8), vector(7, 8), {}), "y overlaps x"));
  EXPECT_TRUE(ok(check_two(vector(0, 8), vector(0, 8), {"x"})));
  EXPECT_TRUE(
      refused(check_two(vector(0, 8), vector(1, 8), {"x"}), "must have the same pointer and strides"));
  EXPECT_TRUE(
      refused(check_two(vector(0, 8), vector(0, 7), {"x"}), "must have the same pointer and strides"));

  // Columns of one matrix of 5 rows and 10 columns.
  const auto columns = [&](int64_t first, int64_t count) {
    return MatrixView<float>{memory + first, 5, count, 10};
  };
  EXPECT_TRUE(ok(check_two(columns(0, 4), columns(4, 6), {})));
  EXPECT_TRUE(ok(check_two(columns(4, 6), columns(0, 4), {})));
  EXPECT_TRUE(refused(check_two(columns(0, 5), columns(4, 6), {}), "y overlaps x"));
  EXPECT_TRUE(refused(check_two(columns(4, 6), columns(0, 5), {}), "y overlaps x"));
  EXPECT_TRUE(refused(check_two(columns(0, 4), columns(0, 4), {}), "y overlaps x"));
  EXPECT_TRUE(ok(check_two(columns(0, 4), columns(0, 4), {"x"})));
  EXPECT_TRUE(refused(check_two(columns(0, 4), MatrixView<float>{memory, 5, 4, 8}, {"x"}), "y overlaps x"));
  EXPECT_TRUE(ok(check_two(columns(0, 4), vector(14, 6), {}))) << "between two rows";
  EXPECT_TRUE(refused(check_two(columns(0, 4), vector(14, 7), {}), "y overlaps x"));
  EXPECT_TRUE(refused(check_two(columns(0, 4), vector(4, 20), {}), "y overlaps x"));
}

TEST(ArgumentCheck, Workspaces) {
  Buffer<char> buffer(64);
  char* const memory = buffer.data();
  const auto check = [&](Workspace workspace, int64_t bytes) {
    ArgumentCheck check("op");
    check.workspace(workspace, bytes);
    check.input("x", VectorView<const char>{memory + 32, 4});
    return check.status();
  };
  EXPECT_TRUE(ok(check({memory, 32}, 32)));
  EXPECT_TRUE(ok(check({}, 0)));
  EXPECT_TRUE(refused(check({memory, 15}, 16), "the workspace has 15 bytes, must have at least 16"));
  EXPECT_TRUE(refused(check({nullptr, 16}, 16), "the workspace is null"));
  EXPECT_TRUE(refused(check({nullptr, 16}, 0), "the workspace is null"));
  EXPECT_TRUE(refused(check({memory + 8, 16}, 8), "must be aligned to 16 bytes"));
  EXPECT_TRUE(refused(check({memory, -1}, 0), "workspace.bytes is -1"));
  EXPECT_TRUE(
      refused(check({memory, kMaxBytes + 1}, 0), "workspace.bytes is 144115188075855873, must be from"));
  EXPECT_TRUE(refused(check({memory, kMaxBytes}, 0), "workspace overlaps x"));
  EXPECT_TRUE(refused(check({memory, 33}, 16), "workspace overlaps x"));
}

// A GPU finds these accesses itself.
TEST(ArgumentCheck, MemoryThatKernelsMayNotAccess) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "a check of the CPU executor";
  const std::string unknown = "which is neither device memory nor pinned host memory";
  std::vector<float> pageable(8);
  EXPECT_TRUE(refused(check_input("x", VectorView<float>{pageable.data(), 8}), unknown));
  ASSERT_EQ(cudaHostRegister(pageable.data(), 8 * sizeof(float), cudaHostRegisterDefault), cudaSuccess);
  EXPECT_TRUE(ok(check_input("x", VectorView<float>{pageable.data(), 8})));
  ASSERT_EQ(cudaHostUnregister(pageable.data()), cudaSuccess);

  float* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 100 * sizeof(float)), cudaSuccess);
  EXPECT_TRUE(ok(check_input("x", VectorView<float>{memory, 100})));
  EXPECT_TRUE(ok(check_input("a", MatrixView<float>{memory + 4, 10, 6, 10})));
  EXPECT_TRUE(refused(check_input("x", VectorView<float>{memory + 1, 100}),
                      "which is 396 bytes before the end of its allocation, must be at least 400"));
  EXPECT_TRUE(refused(check_input("a", MatrixView<float>{memory + 5, 10, 6, 10}), "must be at least 384"));
  EXPECT_TRUE(
      refused(check_input("x", VectorView<float>{memory + 100, 1}), "which is 0 bytes before the end"));
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_TRUE(refused(check_input("x", VectorView<float>{memory, 100}), unknown));

  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&memory), 4), cudaSuccess);
  EXPECT_TRUE(ok(check_input("x", VectorView<float>{memory, 1})));
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Platform, ANegativeCountOfDevicesIsRefused) {
  EXPECT_TRUE(refused(request_devices(-1), "count is -1"));
  EXPECT_TRUE(ok(request_devices(0)));
}

#ifdef __SIMT__
// On a GPU the error says more than "no device".
TEST(Platform, ADriverThatIsTooOldIsNamed) {
  simt::set_driver(simt::Driver::insufficient);
  int count = 1;
  const Status counted = count_devices(count), requested = request_devices(1);
  const int devices = device_count();
  simt::set_driver(simt::Driver::current);
  for (const Status& status : {counted, requested}) {
    EXPECT_EQ(status.code(), StatusCode::device_failed);
    EXPECT_NE(status.message().find("counting the devices: driver too old for the runtime "
                                    "(cudaErrorInsufficientDriver)"),
              std::string::npos)
        << status.message();
  }
  EXPECT_EQ(count, 0);
  EXPECT_EQ(devices, 0);
  EXPECT_GT(device_count(), 0);
}
#endif

TEST(Buffer, SizesThatOverflowAreRefused) {
  const auto code_for = [](int64_t size) {
    try {
      const Buffer<float> buffer(size);
      return StatusCode::ok;
    } catch (const Error& error) {
      const bool named = std::string(error.what()).find(std::to_string(size)) != std::string::npos;
      EXPECT_EQ(named, size != INT64_MAX) << error.what();  // that may be a saturated product
      return error.status().code();
    }
  };
  EXPECT_EQ(code_for(int64_t{1} << 62), StatusCode::out_of_resources);
  EXPECT_EQ(code_for((int64_t{1} << 62) + 4), StatusCode::out_of_resources);
  EXPECT_EQ(code_for(INT64_MAX), StatusCode::out_of_resources);
  EXPECT_EQ(code_for(-1), StatusCode::bad_argument);
}

}  // namespace
}  // namespace rondo::test
