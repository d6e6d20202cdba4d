// Bulk tensor copies in im2col mode. Which pixel a row of a column is, is written here a second time, from
// the documentation (PTX ISA, "im2col mode"): the bases of a filter in the bounding box are listed, image by
// image and row by row; a column is a part of this list, and each pixel is the offset away from its base.
// Above 400 lines because it has this second description beside the tests.
#include <rondo/kernels/core/tensor_map.h>
#include <rondo/kernels/core/ptx/bulk_copy.cuh>

#include <array>
#include <cstring>
#include <numeric>
#include <random>

#include "device_testing.h"
#include "swizzled_offset.h"

using namespace simt_test;
using rondo::DType;
using rondo::Im2colMapShape;
using rondo::Swizzle;
namespace ptx = rondo::ptx;

namespace {

constexpr size_t kBarrierBytes = 1024;  // in front of the column

ptx::Mbarrier* barrier() { return &shared<ptx::Mbarrier>(); }
unsigned char* column() { return &shared<unsigned char>(kBarrierBytes); }
std::string line(int number) { return place_text("device_im2col.cu", number); }

CUtensorMap made(const Im2colMapShape& shape) {
  CUtensorMap map;
  const rondo::Status status = rondo::make_im2col_map(&map, shape);
  EXPECT_TRUE(status.ok()) << status.message();
  return map;
}

// One thread loads a column; the others wait for it.
template <int Rank>
void load(const CUtensorMap& map, const int* base, const int* by, unsigned expected) {
  int at[Rank], offset[Rank - 2];
  std::copy_n(base, Rank, at);
  std::copy_n(by, Rank - 2, offset);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier(), 1);
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier(), expected);
    ptx::tma_load_im2col(column(), map, at, offset, barrier());
  }
  ptx::mbarrier_wait(barrier(), 0);
}
constexpr int kLoadLine = __LINE__ - 4;

void load(int rank, const CUtensorMap& map, const int* base, const int* by, unsigned expected) {
  decltype(load<3>)* const all[] = {load<3>, load<4>, load<5>};
  all[rank - 3](map, base, by, expected);
}

// A random tensor, a column of it, and the offset of a tap.
struct Case {
  Im2colMapShape shape;
  int at[5], offset[3];
  size_t element, global_bytes;
};

// The positions along a dimension of pixels where the filter's base may be.
std::vector<int> bases(const Im2colMapShape& shape, int d) {
  std::vector<int> all;
  const int last = static_cast<int>(shape.size[d]) - 1 + shape.upper[d - 1];
  for (int at = shape.lower[d - 1]; at <= last; at += shape.step[d - 1]) all.push_back(at);
  return all;
}

Case drawn(std::mt19937& random, int rank, Swizzle swizzle) {
  const auto upto = [&](int least, int most) {
    return least + static_cast<int>(random() % (most - least + 1));
  };
  Case c = {};
  Im2colMapShape& shape = c.shape;
  constexpr DType kTypes[] = {DType::uint8, DType::bfloat16, DType::float32, DType::float64};
  shape.dtype = kTypes[random() % 4];
  c.element = static_cast<size_t>(rondo::size_of(shape.dtype));
  shape.rank = rank;
  shape.swizzle = swizzle;
  const size_t row = swizzle == Swizzle::none ? 16u * upto(1, 3) : 16u << static_cast<int>(swizzle);
  shape.channels = static_cast<int>(row / c.element);
  shape.pixels = upto(1, 70);
  size_t stride = 0;
  for (int d = 0; d < rank; ++d) {
    shape.size[d] = upto(1, d == 0 ? 80 : 7);
    stride = d == 0   ? 0
             : d == 1 ? (shape.size[0] * c.element + 15) / 16 * 16 + 16 * random() % 2
                      : stride * shape.size[d - 1];
    shape.stride[d] = static_cast<int64_t>(stride);
  }
  c.global_bytes = stride * shape.size[rank - 1];
  c.at[0] = upto(-5, static_cast<int>(shape.size[0]) + 2);
  c.at[rank - 1] = upto(-2, static_cast<int>(shape.size[rank - 1]));
  for (int d = 1; d < rank - 1; ++d) {
    shape.lower[d - 1] = upto(-4, 2);
    // The last base is not before the first one.
    shape.upper[d - 1] = shape.lower[d - 1] + 1 - static_cast<int>(shape.size[d]) + upto(0, 7);
    shape.step[d - 1] = upto(1, 3);
    const std::vector<int> all = bases(shape, d);
    c.at[d] = all[random() % all.size()];
    c.offset[d - 1] = upto(0, 4);
  }
  return c;
}

// Calls visit(offset in the column, offset in the tensor or -1) for each element of the column.
template <class Visit>
void for_each_element(const Case& c, const Visit& visit) {
  const Im2colMapShape& shape = c.shape;
  const int images = shape.rank - 1;
  // W, H, D of each base in an image, in their order; those that a case lacks have the base 0.
  std::vector<std::array<int, 3>> in_image;
  const auto axis = [&](int d) { return d < images ? bases(shape, d) : std::vector<int>{0}; };
  for (const int z : axis(3))
    for (const int y : axis(2))
      for (const int x : axis(1)) in_image.push_back({x, y, z});
  std::array<int, 3> start = {};
  std::copy_n(c.at + 1, images - 1, start.begin());
  const size_t first = std::find(in_image.begin(), in_image.end(), start) - in_image.begin();
  ASSERT_LT(first, in_image.size());
  for (int pixel = 0; pixel < shape.pixels; ++pixel) {
    const size_t number = first + static_cast<size_t>(pixel);
    const std::array<int, 3>& base = in_image[number % in_image.size()];
    const int64_t image = c.at[images] + static_cast<int64_t>(number / in_image.size());
    int64_t global = image * shape.stride[images];
    bool inside = image >= 0 && image < shape.size[images];
    for (int d = 1; d < images; ++d) {
      const int64_t position = base[d - 1] + c.offset[d - 1];
      inside = inside && position >= 0 && position < shape.size[d];
      global += position * shape.stride[d];
    }
    for (int channel = 0; channel < shape.channels; ++channel) {
      const int64_t position = c.at[0] + channel;
      const bool valid = inside && position >= 0 && position < shape.size[0];
      visit((static_cast<size_t>(pixel) * shape.channels + channel) * c.element,
            valid ? global + position * static_cast<int64_t>(c.element) : -1);
    }
  }
}

TEST(Im2colCopy, EachElementIsInItsPlace) {
  std::mt19937 random(4);
  size_t inside = 0, outside = 0;
  for (int round = 0; round < 60; ++round)
    for (const Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
      for (int rank = 3; rank <= 5; ++rank) {
        Case c = drawn(random, rank, swizzle);
        std::vector<double> storage(c.global_bytes / 8 + 3);
        auto* const begin = reinterpret_cast<unsigned char*>(storage.data());
        unsigned char* const global = begin + (16 - reinterpret_cast<uintptr_t>(begin) % 16) % 16;
        for (size_t i = 0; i < c.global_bytes; ++i)
          global[i] = static_cast<unsigned char>(1 + random() % 255);
        c.shape.data = global;
        const CUtensorMap map = made(c.shape);
        std::vector<unsigned char> loaded(rondo::box_bytes(c.shape));
        for (const bool late : {false, true}) {
          simt::set_late_copies(late);
          std::fill(loaded.begin(), loaded.end(), 0xEE);
          run_ok({1, 2, kBarrierBytes + loaded.size()}, [&] {
            load(rank, map, c.at, c.offset, static_cast<unsigned>(loaded.size()));
            if (threadIdx.x == 1) std::memcpy(loaded.data(), column(), loaded.size());
          });
          simt::set_late_copies(false);
          for_each_element(c, [&](size_t offset, int64_t at) {
            const unsigned char zeros[8] = {};
            ASSERT_EQ(std::memcmp(&loaded[swizzled_offset(offset, swizzle)], at < 0 ? zeros : global + at,
                                  c.element),
                      0)
                << "rank " << rank << ", swizzle " << static_cast<int>(swizzle) << ", offset " << offset;
            ++(at < 0 ? outside : inside);
          });
        }
      }
  EXPECT_GT(inside, 20'000u);
  EXPECT_GT(outside, 20'000u);
}

// The three examples of the documentation. Expected by hand: the pixel (image, h, w) of some rows of the
// column, or none where it is outside of the image.
TEST(Im2colCopy, TheExamplesOfTheDocumentation) {
  struct Row {
    int pixel, image, h, w;
    bool inside = true;
  };
  struct Example {
    int w, pixels, channels, lower, upper, step;
    int base[4], offset;
    std::vector<Row> rows;
  };
  constexpr bool kOutside = false;
  const Example examples[] = {
      // Bases along W are -1 to 7, along H -1 to 12.
      {9,
       64,
       8,
       -1,
       -1,
       1,
       {0, 4, 7, 7},
       0,
       {{0, 7, 7, 4},
        {3, 7, 7, 7},
        {4, 7, 8, -1, kOutside},
        {5, 7, 8, 0},
        {48, 7, 12, 7},
        {49, 8, -1, -1, kOutside},
        {57, 8, -1, 7, kOutside},
        {58, 8, 0, -1, kOutside},
        {59, 8, 0, 0},
        {63, 8, 0, 4}}},
      // 0 to 6, and 0 to 11; all pixels are inside.
      {9,
       64,
       8,
       0,
       -2,
       1,
       {0, 4, 7, 7},
       2,
       {{0, 7, 9, 6}, {2, 7, 9, 8}, {3, 7, 10, 2}, {30, 7, 13, 8}, {31, 8, 2, 2}, {63, 8, 6, 6}}},
      // -1 to 6 in steps of 2: 4 bases; -1 to 12: 7 bases.
      {8,
       32,
       16,
       -1,
       -1,
       2,
       {0, 5, 7, 7},
       1,
       {{0, 7, 8, 6},
        {1, 7, 10, 0},
        {4, 7, 10, 6},
        {5, 7, 12, 0},
        {8, 7, 12, 6},
        {9, 8, 0, 0},
        {31, 8, 10, 4}}},
  };
  constexpr int kC = 64, kH = 14, kN = 64;
  for (const Example& e : examples) {
    SCOPED_TRACE(e.base[1] * 10 + e.offset);
    std::vector<float> data(static_cast<size_t>(kC) * e.w * kH * kN + 4);
    float* const aligned = data.data() + (16 - reinterpret_cast<uintptr_t>(data.data()) % 16) % 16 / 4;
    std::iota(aligned, data.data() + data.size(), 1.0f);
    const CUtensorMap map = made({.data = aligned,
                                  .size = {kC, e.w, kH, kN},
                                  .stride = {0, kC * 4, kC * 4 * e.w, kC * 4 * e.w * kH},
                                  .lower = {e.lower, e.lower},
                                  .upper = {e.upper, e.upper},
                                  .step = {e.step, e.step},
                                  .channels = e.channels,
                                  .pixels = e.pixels});
    run_ok({1, 1, 8192}, [&] {
      const int offset[] = {e.offset, e.offset};
      load<4>(map, e.base, offset, static_cast<unsigned>(e.pixels * e.channels * 4));
      for (const Row& row : e.rows)
        for (int c = 0; c < e.channels; ++c) {
          const int64_t at = ((int64_t{row.image} * kH + row.h) * e.w + row.w) * kC + c;
          float got;
          std::memcpy(&got, column() + (row.pixel * e.channels + c) * 4, 4);
          ASSERT_EQ(got, row.inside ? static_cast<float>(at + 1) : 0) << "pixel " << row.pixel;
        }
    });
  }
}

// Images of 4 x 4 pixels of 16 bytes, and columns of 8 pixels of a filter of 3 x 3 with padding.
Im2colMapShape small() {
  alignas(16) static float data[2 * 4 * 4 * 4];
  return {.data = data,
          .size = {4, 4, 4, 2},
          .stride = {0, 16, 64, 256},
          .lower = {-1, -1},
          .upper = {-1, -1},
          .channels = 4,
          .pixels = 8};
}

TEST(Im2colCopy, WrongProgramsAreNamed) {
  NOT_UNDER_CHECK();
  const auto loaded = [](const Im2colMapShape& shape, std::array<int, 4> at, std::array<int, 2> offset,
                         unsigned expected = 128) {
    const CUtensorMap map = made(shape);
    return run({1, 32, 4096}, [=] { load<4>(map, at.data(), offset.data(), expected); });
  };
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    EXPECT_EQ(loaded(small(), {0, -1, 2, 0}, {2, 255}).error, cudaSuccess);
    // The bytes of pixels outside of the tensor count.
    expect_fault(loaded(small(), {0, -1, 2, 1}, {0, 0}, 144),
                 {"Threads 0-31 wait for the mbarrier at byte 0 of shared memory (parity 0, 0 of 1 arrivals "
                  "and 16 bytes are missing)"});
    expect_fault(loaded(small(), {0, -1, 2, 1}, {0, 0}, 112),
                 {"16 bytes more than expected were copied", line(kLoadLine + 2)});
    expect_fault(loaded(small(), {0, 0, 0, 0}, {256, 0}),
                 {"cp.async.bulk.tensor.im2col at ", line(kLoadLine),
                  "the im2col offset along W is 256, must be 0 to 255"});
    expect_fault(loaded(small(), {0, 0, 0, 0}, {0, -1}),
                 {line(kLoadLine), "the im2col offset along H is -1, must be 0 to 255"});
    expect_fault(
        loaded(small(), {0, 3, 0, 0}, {0, 0}),
        {line(kLoadLine), "the filter's base along W is 3, outside of the bounding box from -1 to 2"});
    expect_fault(
        loaded(small(), {0, 0, -2, 0}, {0, 0}),
        {line(kLoadLine), "the filter's base along H is -2, outside of the bounding box from -1 to 2"});
    Im2colMapShape strided = small();
    strided.step[0] = 2;
    EXPECT_EQ(loaded(strided, {0, 1, 0, 0}, {0, 0}).error, cudaSuccess);
    expect_fault(
        loaded(strided, {0, 2, 0, 0}, {0, 0}),
        {line(kLoadLine), "the filter's base along W is 2, not a multiple of the element stride 2 from -1"});
  }
  simt::set_late_copies(false);

  const CUtensorMap column_map = made(small());
  alignas(16) static float data[64];
  CUtensorMap box_map;
  ASSERT_TRUE(
      rondo::make_tensor_map(
          &box_map,
          {.data = data, .rank = 4, .size = {4, 2, 2, 2}, .stride = {0, 16, 32, 64}, .box = {4, 2, 2, 2}})
          .ok());
  expect_fault(run({1, 1, 4096},
                   [&] {
                     ptx::tma_load(column(), column_map, {0, 0, 0, 0}, barrier());
                   }),
               {"the tensor map is of im2col mode, the instruction of tiled mode"});
  expect_fault(run({1, 1, 4096},
                   [&] {
                     ptx::tma_store(column_map, {0, 0, 0, 0}, column());
                   }),
               {"the tensor map is of im2col mode, the instruction of tiled mode"});
  expect_fault(run({1, 1, 4096},
                   [&] {
                     ptx::tma_load_im2col(column(), box_map, {0, 0, 0, 0}, {0, 0}, barrier());
                   }),
               {"the tensor map is of tiled mode, the instruction of im2col mode"});
  expect_fault(run({1, 1, 4096},
                   [&] {
                     ptx::tma_load_im2col(column(), column_map, {0, 0, 0}, {0}, barrier());
                   }),
               {"3 coordinates for a tensor map of 4 dimensions"});
}

TEST(Im2colMap, WhatIsNotAllowedIsNamed) {
  made(small());
  const auto refused = [](auto change, const std::string& part) {
    Im2colMapShape shape = small();
    change(shape);
    CUtensorMap map;
    const rondo::Status status = rondo::make_im2col_map(&map, shape);
    EXPECT_EQ(status.code(), rondo::StatusCode::bad_argument) << part;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  refused([](Im2colMapShape& s) { s.rank = 2; }, "make_im2col_map: rank is 2, must be 3 to 5");
  refused([](Im2colMapShape& s) { s.data = nullptr; }, "data is null");
  refused([](Im2colMapShape& s) { s.stride[2] = 72; }, "stride[2] is 72, must be a multiple of 16");
  refused([](Im2colMapShape& s) { s.lower[0] = -129; }, "lower[0] is -129, must be -128 to 127");
  refused([](Im2colMapShape& s) { s.upper[1] = 128; }, "upper[1] is 128, must be -128 to 127");
  refused([](Im2colMapShape& s) { s.upper[1] = -5; }, "the bounding box is empty along 1");
  refused([](Im2colMapShape& s) { s.step[1] = 9; }, "step[1] is 9, must be 1 to 8");
  refused([](Im2colMapShape& s) { s.pixels = 1025; }, "pixels is 1025, must be 1 to 1024");
  refused([](Im2colMapShape& s) { s.channels = 0; }, "channels is 0, must be 1 to 256");
  refused([](Im2colMapShape& s) { s.channels = 3; }, "the bytes of channels is 12");
  refused([](Im2colMapShape& s) { s.swizzle = Swizzle::bytes32; },
          "channels has 16 bytes, must have the 32 of the swizzle");
}

// The executor's driver function checks what CUDA documents, without the help of make_im2col_map().
TEST(Im2colMap, TheDriverRefusesWhatIsNotAllowed) {
  alignas(16) static float data[1024];
  struct Arguments {
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    cuuint32_t rank = 4;
    void* data;
    cuuint64_t sizes[5] = {4, 4, 4, 2, 2}, strides[4] = {16, 64, 256, 512};
    int lower[3] = {-1, -1, -1}, upper[3] = {-1, -1, -1};
    cuuint32_t channels = 4, pixels = 8, steps[5] = {1, 1, 1, 1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  };
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);  // the driver needs a context
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  ASSERT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &function, 12000, cudaEnableDefault,
                                             &found),
            cudaSuccess);
  ASSERT_EQ(found, cudaDriverEntryPointSuccess);
  const auto result = [&](auto change) {
    Arguments a;
    a.data = data;
    change(a);
    CUtensorMap map;
    return reinterpret_cast<decltype(&cuTensorMapEncodeIm2col)>(function)(
        &map, a.type, a.rank, a.data, a.sizes, a.strides, a.lower, a.upper, a.channels, a.pixels, a.steps,
        a.interleave, a.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, a.fill);
  };
  const auto valid = [&](auto change) { EXPECT_EQ(result(change), CUDA_SUCCESS); };
  const auto invalid = [&](auto change) { EXPECT_EQ(result(change), CUDA_ERROR_INVALID_VALUE); };
  const auto missing = [&](auto change) { EXPECT_EQ(result(change), CUDA_ERROR_NOT_SUPPORTED); };
  valid([](Arguments&) {});
  invalid([](Arguments& a) { a.rank = 2; });
  invalid([](Arguments& a) { a.rank = 6; });
  invalid([](Arguments& a) { a.channels = 0; });
  valid([](Arguments& a) { a.channels = 256; });
  invalid([](Arguments& a) { a.channels = 257; });
  invalid([](Arguments& a) { a.pixels = 0; });
  valid([](Arguments& a) { a.pixels = 1024; });
  invalid([](Arguments& a) { a.pixels = 1025; });
  invalid([](Arguments& a) { a.steps[1] = 0; });
  invalid([](Arguments& a) { a.steps[2] = 9; });
  // The range of the corners depends on the rank.
  valid([](Arguments& a) { a.rank = 3, a.lower[0] = -32768, a.upper[0] = 32767; });
  invalid([](Arguments& a) { a.rank = 3, a.lower[0] = -32769; });
  invalid([](Arguments& a) { a.rank = 3, a.upper[0] = 32768; });
  valid([](Arguments& a) { a.lower[1] = -128, a.upper[0] = 127; });
  invalid([](Arguments& a) { a.lower[1] = -129; });
  invalid([](Arguments& a) { a.upper[0] = 128; });
  valid([](Arguments& a) { a.rank = 5, a.lower[2] = -16, a.upper[2] = 15; });
  invalid([](Arguments& a) { a.rank = 5, a.lower[2] = -17; });
  invalid([](Arguments& a) { a.rank = 5, a.upper[2] = 16; });
  valid([](Arguments& a) { a.upper[0] = -4; });
  invalid([](Arguments& a) { a.upper[0] = -5; });  // an empty box
  valid([](Arguments& a) { a.channels = 8, a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B; });
  invalid([](Arguments& a) { a.channels = 12, a.swizzle = CU_TENSOR_MAP_SWIZZLE_32B; });
  missing([](Arguments& a) { a.channels = 6; });
  missing([](Arguments& a) { a.steps[3] = 2; });
  missing([](Arguments& a) { a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; });
}

}  // namespace
