// Misaligned wide accesses, on which a GPU faults, with the checks of RONDO_CHECK_ALIGNMENT compiled in.
#include <rondo/kernels/core/vec.cuh>
#include <rondo/kernels/core/pack.cuh>

#include <cstddef>

#include "device_testing.h"

using namespace simt_test;

namespace {

alignas(64) unsigned char memory[256];

template <class T>
T* at(size_t bytes) {
  return reinterpret_cast<T*>(memory + bytes);
}

// `access(bytes)` accesses memory + bytes. It must fail unless `bytes` is a multiple of `size`.
template <class Access>
void expect_multiples_of(size_t size, const std::string& what, size_t step, Access access) {
  for (size_t bytes = 0; bytes < 64; bytes += step) {
    const simt::Fault fault = run({2, 32}, [&] {
      if (blockIdx.x == 1 && threadIdx.x == 5) access(bytes);
    });
    if (bytes % size == 0) {
      EXPECT_EQ(fault.error, cudaSuccess) << fault.message;
      continue;
    }
    EXPECT_EQ(fault.error, cudaErrorMisalignedAddress)
        << what << ", " << bytes << " bytes: " << fault.message;
    for (const std::string& part : {std::string("kernel test_kernel, block (1, 0, 0), thread (5, 0, 0)"),
                                    what + " of " + std::to_string(size) + " bytes",
                                    "the address is " + std::to_string(bytes % size) + " bytes past"})
      EXPECT_NE(fault.message.find(part), std::string::npos)
          << "'" << part << "' is not in: " << fault.message;
  }
}

template <int N>
void expect_lanes_check() {
  using Vec = rondo::Vec<N>;
  constexpr size_t kSize = N == 1 ? 4 : 16;  // bytes of one access on a GPU; a Vec may need several
  expect_multiples_of(kSize, "a load of Vec", 4, [](size_t bytes) { Vec::load(at<float>(bytes)); });
  expect_multiples_of(kSize, "a store of Vec", 4,
                      [](size_t bytes) { Vec::zero().store(at<float>(bytes)); });
  expect_multiples_of(1, "", 4, [](size_t bytes) {
    Vec::load_unaligned(at<float>(bytes)).store_unaligned(at<float>(bytes));
    Vec::load_some(at<float>(bytes), 1).store_some(at<float>(bytes), 1);
  });
}

TEST(Alignment, OfVec) {
  expect_lanes_check<1>();
  expect_lanes_check<4>();
  expect_lanes_check<8>();
  expect_lanes_check<32>();
}

TEST(Alignment, OfABroadcast) {
  expect_multiples_of(16, "a Broadcast", 4, [](size_t bytes) { rondo::Broadcast<4>(at<float>(bytes)); });
}

template <class T, int N>
void expect_packs_check() {
  constexpr size_t kSize = std::min<size_t>(N * sizeof(T), 16);
  expect_multiples_of(kSize, "a load of a Pack", sizeof(T),
                      [](size_t bytes) { rondo::load_pack<N>(at<T>(bytes)); });
  expect_multiples_of(kSize, "a store of a Pack", sizeof(T),
                      [](size_t bytes) { rondo::store_pack(at<T>(bytes), rondo::Pack<T, N>{}); });
}

TEST(Alignment, OfPacks) {
  expect_packs_check<float, 1>();
  expect_packs_check<float, 2>();
  expect_packs_check<float, 4>();
  expect_packs_check<float, rondo::kWidestPack>();
  expect_packs_check<unsigned char, 4>();
  expect_packs_check<std::byte, 16>();
  expect_packs_check<short, 8>();
}

}  // namespace
