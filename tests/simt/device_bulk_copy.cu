// Bulk copies between global and shared memory, and tensor maps. The positions of elements in shared memory
// are computed here a second time, from the documentation of the swizzles as exclusive-or of address bits.
// Above 400 lines because each wrong program stands beside the right one that it differs from.
#include <rondo/kernels/core/tensor_map.h>
#include <rondo/kernels/core/ptx/bulk_copy.cuh>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "device_testing.h"
#include "swizzled_offset.h"

using namespace simt_test;
using rondo::DType;
using rondo::Swizzle;
using rondo::TensorMapShape;
namespace ptx = rondo::ptx;

namespace {

constexpr size_t kBarrierBytes = 1024;  // in front of the boxes

ptx::Mbarrier* barrier() { return &shared<ptx::Mbarrier>(); }
template <class T>
T* box() {
  return reinterpret_cast<T*>(&shared<char>(kBarrierBytes));
}

void init(unsigned count) {
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier(), count);
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
}

std::string line(int number) { return place_text("device_bulk_copy.cu", number); }

CUtensorMap made(const TensorMapShape& shape) {
  CUtensorMap map;
  const rondo::Status status = rondo::make_tensor_map(&map, shape);
  EXPECT_TRUE(status.ok()) << status.message();
  return map;
}

// A random tensor of rank 1 to 5, a box, and a position of it that may be outside.
struct Case {
  TensorMapShape shape;
  int at[5];
  size_t element, global_bytes;
  int boxes[5];  // elements of the box
};

Case drawn(std::mt19937& random, int rank, Swizzle swizzle) {
  const auto upto = [&](int least, int most) {
    return least + static_cast<int>(random() % (most - least + 1));
  };
  Case c = {};
  constexpr DType kTypes[] = {DType::uint8, DType::bfloat16, DType::float32, DType::float64};
  c.shape.dtype = kTypes[random() % 4];
  c.element = static_cast<size_t>(rondo::size_of(c.shape.dtype));
  c.shape.rank = rank;
  c.shape.swizzle = swizzle;
  size_t stride = 0;
  for (int d = 0; d < rank; ++d) {
    c.shape.size[d] = upto(1, d == 0 ? 40 : 9);
    c.shape.box[d] = d == 0 ? static_cast<int>((swizzle == Swizzle::none ? 16u * upto(1, 3)
                                                                         : 16u << static_cast<int>(swizzle)) /
                                               c.element)
                            : upto(1, 6);
    c.shape.step[d] = d == 0 ? 1 : upto(1, 3);
    c.boxes[d] = (c.shape.box[d] + c.shape.step[d] - 1) / c.shape.step[d];
    c.at[d] = upto(-5, static_cast<int>(c.shape.size[d]) + 2);
    stride = d == 0   ? 0
             : d == 1 ? (c.shape.size[0] * c.element + 15) / 16 * 16 + 16 * random() % 2
                      : stride * c.shape.size[d - 1];
    c.shape.stride[d] = static_cast<int64_t>(stride);
  }
  c.global_bytes = rank == 1 ? c.shape.size[0] * c.element : stride * c.shape.size[rank - 1];
  return c;
}

// Calls visit(offset in the box, offset in the tensor or -1) for each element of the box.
template <class Visit>
void for_each_element(const Case& c, const Visit& visit) {
  size_t elements = 1;
  for (int d = 0; d < c.shape.rank; ++d) elements *= c.boxes[d];
  for (size_t i = 0; i < elements; ++i) {
    size_t rest = i;
    int64_t global = 0;
    bool inside = true;
    for (int d = 0; d < c.shape.rank; ++d) {
      const int64_t position = c.at[d] + static_cast<int64_t>(rest % c.boxes[d]) * c.shape.step[d];
      rest /= c.boxes[d];
      inside = inside && position >= 0 && position < c.shape.size[d];
      global += position * (d == 0 ? static_cast<int64_t>(c.element) : c.shape.stride[d]);
    }
    visit(i * c.element, inside ? global : -1);
  }
}

template <int Rank>
void load_and_store(const Case& c, const CUtensorMap& from, const CUtensorMap& to, unsigned char* loaded) {
  int at[Rank];
  std::copy_n(c.at, Rank, at);
  const auto bytes = static_cast<unsigned>(rondo::box_bytes(c.shape));
  init(1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier(), bytes);
    ptx::tma_load(box<char>(), from, at, barrier());
  }
  ptx::mbarrier_wait(barrier(), 0);
  if (threadIdx.x == 1) std::memcpy(loaded, box<char>(), bytes);
  if (threadIdx.x == 0) {
    ptx::tma_store(to, at, box<char>());
    ptx::bulk_commit();
    ptx::bulk_wait_read<0>();
  }
}

TEST(TensorCopy, EachElementIsInItsPlace) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round)
    for (const Swizzle swizzle : {Swizzle::none, Swizzle::bytes32, Swizzle::bytes64, Swizzle::bytes128})
      for (int rank = 1; rank <= 5; ++rank) {
        Case c = drawn(random, rank, swizzle);
        std::vector<double> storage(c.global_bytes / 8 + 3), target(storage.size());
        const auto aligned = [](std::vector<double>& memory) {
          auto* const begin = reinterpret_cast<unsigned char*>(memory.data());
          return begin + (16 - reinterpret_cast<uintptr_t>(begin) % 16) % 16;
        };
        unsigned char* const global = aligned(storage);
        unsigned char* const copy = aligned(target);
        for (size_t i = 0; i < c.global_bytes; ++i)
          global[i] = static_cast<unsigned char>(1 + random() % 255);
        c.shape.data = global;
        const CUtensorMap from = made(c.shape);
        c.shape.data = copy;
        const CUtensorMap to = made(c.shape);
        std::vector<unsigned char> loaded(rondo::box_bytes(c.shape));
        for (const bool late : {false, true}) {
          simt::set_late_copies(late);
          std::memset(copy, 0, c.global_bytes);
          std::fill(loaded.begin(), loaded.end(), 0xEE);
          run_ok({1, 2, kBarrierBytes + loaded.size()}, [&] {
            decltype(load_and_store<1>)* const all[] = {load_and_store<1>, load_and_store<2>,
                                                        load_and_store<3>, load_and_store<4>,
                                                        load_and_store<5>};
            all[rank - 1](c, from, to, loaded.data());
          });
          simt::set_late_copies(false);
          size_t stored = 0;
          for_each_element(c, [&](size_t offset, int64_t at) {
            const unsigned char* const got = &loaded[swizzled_offset(offset, swizzle)];
            const unsigned char zeros[8] = {};
            ASSERT_EQ(std::memcmp(got, at < 0 ? zeros : global + at, c.element), 0)
                << "rank " << rank << ", swizzle " << static_cast<int>(swizzle) << ", offset " << offset;
            if (at >= 0) {
              ASSERT_EQ(std::memcmp(copy + at, global + at, c.element), 0) << "stored, offset " << offset;
              stored += c.element;
            }
          });
          // Nothing else was stored.
          ASSERT_EQ(
              static_cast<size_t>(std::count_if(copy, copy + c.global_bytes, [](int b) { return b != 0; })),
              stored);
        }
      }
}

// The example of the guide: with 128 bytes, the first group of row r is at group r of it.
TEST(TensorCopy, TheSwizzleIsThatOfTheAddress) {
  alignas(16) float from[32 * 32];
  std::iota(std::begin(from), std::end(from), 0.0f);
  const CUtensorMap map = made({.data = from,
                                .rank = 2,
                                .size = {32, 32},
                                .stride = {0, 128},
                                .box = {32, 8},
                                .swizzle = Swizzle::bytes128});
  for (const int first_row : {0, 3}) {  // rows of 128 bytes behind a multiple of 1024
    run_ok({1, 1, 4096}, [&] {
      init(1);
      ptx::mbarrier_arrive_expect_tx(barrier(), 1024);
      ptx::tma_load(box<float>() + 32 * first_row, map, {0, 1}, barrier());
      ptx::mbarrier_wait(barrier(), 0);
      for (int row = 0; row < 8; ++row)
        for (int group = 0; group < 8; ++group)
          for (int i = 0; i < 4; ++i) {
            const int at = 32 * (first_row + row) + 4 * (group ^ ((first_row + row) % 8)) + i;
            ASSERT_EQ(box<float>()[at], 32 * (row + 1) + 4 * group + i);
          }
    });
  }
}

// Rounded to the 11 significant bits of tf32: to nearest, which truncation is not, ties to even. A NaN keeps
// its lower bits, too.
TEST(TensorCopy, AMapRoundsToTf32) {
  const float nan = std::bit_cast<float>(0x7F800001u);
  alignas(16) float from[12] = {1 + 0x1.8p-11f, 1 + 0x1.8p-12f,  -1 - 0x1.8p-11f, -0x1.ffffp-3f,
                                1 + 0x1p-11f,   1 + 0x1.8p-10f,  -1 - 0x1p-11f,   1 + 0x1.002p-11f,
                                0x1.001p-130f,  0x1.fffffep127f, -INFINITY,       nan};
  const float rounded[12] = {1 + 0x1p-10f, 1,         -1 - 0x1p-10f, -0x1p-2f,  1,  1 + 0x1p-9f, -1,
                             1 + 0x1p-10f, 0x1p-130f, INFINITY,      -INFINITY, nan};
  for (const bool rounds : {false, true}) {
    const CUtensorMap map = made({.data = from, .size = {12}, .box = {12}, .round_to_tf32 = rounds});
    run_ok({1, 1, 4096}, [&] {
      init(1);
      ptx::mbarrier_arrive_expect_tx(barrier(), 48);
      ptx::tma_load(box<float>(), map, {0}, barrier());
      ptx::mbarrier_wait(barrier(), 0);
      for (int i = 0; i < 12; ++i)
        ASSERT_EQ(std::bit_cast<uint32_t>(box<float>()[i]),
                  std::bit_cast<uint32_t>(rounds ? rounded[i] : from[i]))
            << i;
    });
  }
}

// A producer thread and 32 consumers; each tile is loaded in two copies.
float piped_total(const float* from, int tiles, bool wait_full, bool wait_empty) {
  constexpr int kSlots = 2, kTile = 64;
  struct Shared {
    ptx::Mbarrier full[kSlots], empty[kSlots];
    alignas(16) float tile[kSlots][kTile];
  };
  std::vector<float> sums(32);
  run_ok({1, 33, sizeof(Shared)}, [&] {
    Shared& s = shared<Shared>();
    if (threadIdx.x == 0) {
      for (int i = 0; i < kSlots; ++i) {
        ptx::mbarrier_init(&s.full[i], 1);
        ptx::mbarrier_init(&s.empty[i], 32);
      }
      ptx::mbarrier_init_fence();
    }
    __syncthreads();
    for (int tile = 0; tile < tiles; ++tile) {
      const int slot = tile % kSlots, parity = tile / kSlots & 1;
      if (threadIdx.x == 32) {
        if (wait_empty) ptx::mbarrier_wait(&s.empty[slot], parity ^ 1);
        if (!wait_empty && tile >= kSlots) ptx::mbarrier_wait(&s.full[slot], parity ^ 1);
        ptx::mbarrier_arrive_expect_tx(&s.full[slot], kTile * 4);
        ptx::bulk_load(s.tile[slot], from + tile * kTile, kTile * 2, &s.full[slot]);
        ptx::bulk_load(s.tile[slot] + kTile / 2, from + tile * kTile + kTile / 2, kTile * 2, &s.full[slot]);
        if (tile == tiles - 1)
          for (int last = 0; last < kSlots && !wait_full; ++last)
            ptx::mbarrier_wait(&s.full[(slot + last) % kSlots], parity);
      } else {
        if (wait_full) ptx::mbarrier_wait(&s.full[slot], parity);
        for (int i = 0; i < 2; ++i) sums[threadIdx.x] += s.tile[slot][threadIdx.x * 2 + i];
        if (wait_empty) ptx::mbarrier_arrive(&s.empty[slot]);
      }
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0f);
}

struct alignas(16) Counting {
  float values[8 * 64];
  Counting() { std::iota(std::begin(values), std::end(values), 1.0f); }
};
constexpr float kTotal = 8 * 64 * (8 * 64 + 1) / 2;

TEST(BulkCopy, PipelineIsRightInBothModes) {
  const Counting from;
  for (const bool late : {false, true})
    for (uint64_t seed = 0; seed < 5; ++seed) {
      Seed scope(seed);
      simt::set_late_copies(late);
      EXPECT_EQ(piped_total(from.values, 8, true, true), kTotal);
      simt::set_late_copies(false);
    }
}

TEST(BulkCopy, AMissingWaitShowsInLateMode) {
  NOT_UNDER_CHECK();
  const Counting from;
  LateCopies late;
  EXPECT_TRUE(std::isnan(piped_total(from.values, 2, false, false)));
}

TEST(BulkCopy, ASlotThatIsRefilledTooEarlyShowsInLateMode) {
  NOT_UNDER_CHECK();
  const Counting from;
  LateCopies late;
  EXPECT_TRUE(std::isnan(piped_total(from.values, 4, true, false)));
}

// One thread loads 64 bytes in a block of 32, and expects `expected`.
simt::Fault loaded_with(unsigned expected, bool waits = true, unsigned parity = 0) {
  alignas(16) static const float from[16] = {};
  return run({1, 32, 2048}, [=] {
    init(1);
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(barrier(), expected);
      ptx::bulk_load(box<char>(), from, 64, barrier());
    }
    if (waits) ptx::mbarrier_wait(barrier(), parity);
  });
}
constexpr int kLoadLine = __LINE__ - 5;

TEST(BulkCopy, WrongExpectedBytesAreNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    EXPECT_EQ(loaded_with(64).error, cudaSuccess);
    expect_fault(loaded_with(96),
                 {"Threads 0-31 wait for the mbarrier at byte 0 of shared memory (parity 0, 0 of 1 arrivals "
                  "and 32 bytes are missing)",
                  line(kLoadLine + 2)});
    expect_fault(loaded_with(48), {"0 of 1 arrivals are missing and 16 bytes more than expected were copied",
                                   line(kLoadLine + 2)});
  }
  simt::set_late_copies(false);
}

TEST(BulkCopy, ALoadThatNothingWaitsForIsNamed) {
  NOT_UNDER_CHECK();
  EXPECT_EQ(loaded_with(64, false).error, cudaSuccess);  // not detected
  LateCopies late;
  expect_fault(loaded_with(64, false),
               {"the block ends, and nothing waited for the bulk copy at ", line(kLoadLine)});
  // A wait for the other parity returns at once.
  expect_fault(loaded_with(64, true, 1), {"nothing waited for the bulk copy at ", line(kLoadLine)});
}

enum class Flaw {
  none,
  no_fence,
  fence_before_write,
  no_commit,
  no_wait,
  write_before_wait,
  write_and_fence_before_wait
};

// Threads write 32 floats to shared memory, and one stores them. Returns what is in global memory at the end.
std::pair<simt::Fault, std::vector<float>> stored(Flaw flaw) {
  std::vector<float> to(36);
  float* const aligned = to.data() + (16 - reinterpret_cast<uintptr_t>(to.data()) % 16) % 16 / 4;
  const simt::Fault fault = run({1, 32, 2048}, [=] {
    float& mine = box<float>()[threadIdx.x];
    if (flaw == Flaw::fence_before_write) ptx::async_proxy_fence();
    mine = static_cast<float>(threadIdx.x + 1);
    if (flaw != Flaw::no_fence && flaw != Flaw::fence_before_write) ptx::async_proxy_fence();
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::bulk_store(aligned, box<float>(), 128);
      if (flaw != Flaw::no_commit) ptx::bulk_commit();
      if (flaw == Flaw::write_before_wait || flaw == Flaw::write_and_fence_before_wait) mine = 100;
      if (flaw == Flaw::write_and_fence_before_wait) ptx::async_proxy_fence();
      if (flaw != Flaw::no_wait) ptx::bulk_wait_read<0>();
      mine = 200;
    }
  });
  return {fault, std::vector<float>(aligned, aligned + 32)};
}
constexpr int kStoreLine = __LINE__ - 10;

bool all_right(const std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<float>(i + 1)) return false;
  return true;
}

TEST(BulkCopy, StoresAreRightInBothModes) {
  for (const bool late : {false, true})
    for (uint64_t seed = 0; seed < 3; ++seed) {
      Seed scope(seed);
      simt::set_late_copies(late);
      const auto [fault, values] = stored(Flaw::none);
      EXPECT_EQ(fault.error, cudaSuccess) << fault.message;
      EXPECT_TRUE(all_right(values));
    }
  simt::set_late_copies(false);
}

TEST(BulkCopy, AMissingFenceIsNamedInLateMode) {
  NOT_UNDER_CHECK();
  EXPECT_TRUE(all_right(stored(Flaw::no_fence).second));  // not detected
  LateCopies late;
  expect_fault(stored(Flaw::no_fence).first,
               {"the bulk store at ", line(kStoreLine),
                "reads byte 1024 of shared memory, which a thread wrote, and no fence.proxy.async followed"});
  // Each thread's fence comes before its own write: that of the last one shows the writes of the others.
  expect_fault(stored(Flaw::fence_before_write).first,
               {line(kStoreLine), "reads byte 1148 of shared memory, which a thread wrote"});
}

TEST(BulkCopy, SharedMemoryThatIsOverwrittenTooEarlyIsNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const Flaw flaw : {Flaw::write_before_wait, Flaw::write_and_fence_before_wait})
      expect_fault(stored(flaw).first,
                   {"the bulk store at ", line(kStoreLine), "reads byte 1026 of shared memory",
                    "which was written before the wait"});
  }
  simt::set_late_copies(false);
}

// A box that is in part outside of the tensor: what is not stored may be anything.
TEST(BulkCopy, WhatABoxDoesNotStoreIsNotRead) {
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    alignas(16) float to[32] = {};
    const CUtensorMap map = made({.data = to, .rank = 2, .size = {16, 2}, .stride = {0, 64}, .box = {16, 4}});
    run_ok({1, 1, 2048}, [&] {
      for (int i = 0; i < 32; ++i) box<float>()[i] = static_cast<float>(i + 1);
      ptx::async_proxy_fence();
      box<float>()[32] = 1;
      ptx::tma_store(map, {0, 0}, box<float>());
      ptx::bulk_commit();
      box<float>()[33] = 1;
      ptx::bulk_wait_read<0>();
    });
    for (int i = 0; i < 32; ++i) EXPECT_EQ(to[i], static_cast<float>(i + 1));
  }
  simt::set_late_copies(false);
}

TEST(BulkCopy, AStoreThatNothingWaitsForIsNamed) {
  NOT_UNDER_CHECK();
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const Flaw flaw : {Flaw::no_commit, Flaw::no_wait})
      expect_fault(stored(flaw).first,
                   {"thread (0, 0, 0): the bulk store at ", line(kStoreLine), "was not waited for"});
  }
  simt::set_late_copies(false);
}

TEST(BulkCopy, GroupsOfStoresCompleteInOrder) {
  NOT_UNDER_CHECK();
  LateCopies late;
  alignas(16) static int to[3][4];
  std::memset(to, 0, sizeof(to));
  run_ok({1, 1, 2048}, [&] {
    for (int i = 0; i < 12; ++i) box<int>()[i] = 7;
    ptx::async_proxy_fence();
    for (int i = 0; i < 3; ++i) {
      ptx::bulk_store(to[i], box<int>() + 4 * i, 16);
      ptx::bulk_commit();
    }
    ptx::bulk_wait<2>();
    EXPECT_TRUE(to[0][0] == 7 && to[1][0] == 0 && to[2][0] == 0);
    ptx::bulk_wait_read<0>();  // read, and not yet written
    EXPECT_TRUE(to[1][0] == 0 && to[2][0] == 0);
    ptx::bulk_wait<1>();
    EXPECT_TRUE(to[1][0] == 7 && to[2][0] == 0);
  });
  EXPECT_EQ(to[2][3], 7) << "written when the thread exits";
}

TEST(BulkCopy, MisuseIsAFault) {
  NOT_UNDER_CHECK();
  alignas(16) static float from[1024];
  const auto loaded = [](size_t offset, size_t global, unsigned bytes) {
    return run({1, 1, 2048}, [=] {
      init(1);
      ptx::bulk_load(box<char>() + offset, from + global, bytes, barrier());
    });
  };
  expect_fault(loaded(8, 0, 16), {"cp.async.bulk at ", line(__LINE__ - 3), "not a multiple of 16"},
               cudaErrorMisalignedAddress);
  expect_fault(loaded(0, 1, 16), {"global address 4 bytes past a multiple of 16"},
               cudaErrorMisalignedAddress);
  expect_fault(loaded(0, 0, 24), {"24 bytes; both must be"}, cudaErrorMisalignedAddress);
  expect_fault(loaded(1008, 0, 32), {"its 32 bytes are not all in the block's shared memory"},
               cudaErrorIllegalAddress);
  expect_fault(run({1, 1, 2048}, [] { ptx::bulk_load(box<char>(), from, 16, barrier()); }),
               {"is not initialized"});
  // The bytes have arrived, or will, before any arrival of their phase.
  expect_fault(run({1, 1, 2048},
                   [] {
                     init(1);
                     ptx::bulk_load(box<char>(), from, 16, barrier());
                     ptx::mbarrier_invalidate(barrier());
                   }),
               {"mbarrier.inval at ", "is in the middle of a phase"});

  const CUtensorMap map =
      made({.data = from, .rank = 2, .size = {32, 32}, .stride = {0, 128}, .box = {4, 2}});
  expect_fault(run({1, 1, 2048},
                   [&] {
                     ptx::tma_load(box<char>() + 64, map, {0, 0}, barrier());
                   }),
               {"cp.async.bulk.tensor at ", "not a multiple of 128"}, cudaErrorMisalignedAddress);
  expect_fault(run({1, 1, 2048}, [&] { ptx::tma_load(box<char>(), map, {0}, barrier()); }),
               {"1 coordinate for a tensor map of 2 dimensions"});
  const CUtensorMap none = {};
  expect_fault(run({1, 1, 2048}, [&] { ptx::tma_load(box<char>(), none, {0}, barrier()); }),
               {"the tensor map was not made by cuTensorMapEncodeTiled"});
}

TEST(TensorMap, WhatIsNotAllowedIsNamed) {
  alignas(16) static float data[64];
  const TensorMapShape good = {.data = data, .rank = 2, .size = {8, 8}, .stride = {0, 32}, .box = {8, 8}};
  made(good);
  const auto refused = [&](auto change, const std::string& part) {
    TensorMapShape shape = good;
    change(shape);
    CUtensorMap map;
    const rondo::Status status = rondo::make_tensor_map(&map, shape);
    EXPECT_EQ(status.code(), rondo::StatusCode::bad_argument) << part;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  };
  refused([](TensorMapShape& s) { s.rank = 6; }, "rank is 6, must be 1 to 5");
  refused([](TensorMapShape& s) { s.data = nullptr; }, "data is null");
  refused([](TensorMapShape& s) { s.data = data + 1; }, "must be a multiple of 16");
  refused([](TensorMapShape& s) { s.size[1] = 0; }, "size[1] is 0");
  refused([](TensorMapShape& s) { s.stride[1] = 40; }, "stride[1] is 40, must be a multiple of 16");
  refused([](TensorMapShape& s) { s.stride[1] = int64_t{1} << 40; }, "stride[1] is 1099511627776");
  refused([](TensorMapShape& s) { s.box[1] = 257; }, "box[1] is 257, must be 1 to 256");
  refused([](TensorMapShape& s) { s.box[0] = 3; }, "the bytes of box[0] is 12");
  refused([](TensorMapShape& s) { s.step[1] = 9; }, "step[1] is 9, must be 1 to 8");
  refused([](TensorMapShape& s) { s.step[0] = 2; }, "step[0] is 2, must be 1 to 1");
  refused([](TensorMapShape& s) { s.box[0] = 16, s.swizzle = Swizzle::bytes32; },
          "box[0] has 64 bytes, must have the 32");
  refused([](TensorMapShape& s) { s.dtype = DType::bfloat16, s.round_to_tf32 = true; },
          "round_to_tf32 needs elements of float32, and they are bfloat16");
}

// The executor's driver function checks what CUDA documents, without the help of make_tensor_map().
TEST(TensorMap, TheDriverRefusesWhatIsNotAllowed) {
  alignas(16) static float data[64];
  struct Arguments {
    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    cuuint32_t rank = 2;
    char* data;
    cuuint64_t sizes[2] = {8, 8}, strides[1] = {32};
    cuuint32_t box[2] = {8, 8}, steps[2] = {1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    int map_offset = 0;
  };
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);  // the driver needs a context
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  ASSERT_EQ(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
      cudaSuccess);
  ASSERT_EQ(found, cudaDriverEntryPointSuccess);
  const auto result = [&](auto change) {
    Arguments a;
    a.data = reinterpret_cast<char*>(data);
    change(a);
    CUtensorMap maps[2];
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
        reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(maps) + a.map_offset), a.type, a.rank, a.data,
        a.sizes, a.strides, a.box, a.steps, a.interleave, a.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, a.fill);
  };
  EXPECT_EQ(result([](Arguments&) {}), CUDA_SUCCESS);
  EXPECT_EQ(result([](Arguments& a) { a.steps[0] = 8; }), CUDA_SUCCESS);
  const auto invalid = [&](auto change) { EXPECT_EQ(result(change), CUDA_ERROR_INVALID_VALUE); };
  invalid([](Arguments& a) { a.map_offset = 32; });
  invalid([](Arguments& a) { a.rank = 0; });
  invalid([](Arguments& a) { a.rank = 6; });
  invalid([](Arguments& a) { a.data += 8; });
  invalid([](Arguments& a) { a.sizes[0] = 0; });
  invalid([](Arguments& a) { a.sizes[1] = (uint64_t{1} << 32) + 1; });
  invalid([](Arguments& a) { a.strides[0] = 40; });
  invalid([](Arguments& a) { a.strides[0] = uint64_t{1} << 40; });
  invalid([](Arguments& a) { a.box[1] = 257; });
  invalid([](Arguments& a) { a.box[1] = 0; });
  invalid([](Arguments& a) { a.box[0] = 12; });  // 48 bytes in a swizzle of 32
  invalid([](Arguments& a) { a.box[0] = 6, a.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE; });
  invalid([](Arguments& a) { a.steps[1] = 9; });
  invalid([](Arguments& a) { a.steps[1] = 0; });
  const auto missing = [&](auto change) { EXPECT_EQ(result(change), CUDA_ERROR_NOT_SUPPORTED); };
  missing([](Arguments& a) { a.type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ; });
  missing([](Arguments& a) { a.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; });
  missing([](Arguments& a) { a.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; });

  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 12000, cudaEnableDefault, &found),
            cudaSuccess);
  EXPECT_TRUE(function == nullptr && found == cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 11080, cudaEnableDefault, &found),
      cudaSuccess);
  EXPECT_TRUE(function == nullptr && found == cudaDriverEntryPointVersionNotSufficent);
}

}  // namespace
