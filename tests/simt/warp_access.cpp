// Sectors and wavefronts of a warp's accesses. Expected numbers are counted by hand.
#include <gtest/gtest.h>
#include <simt/warp_access.h>

#include <map>
#include <random>
#include <set>

namespace simt {
namespace {

constexpr uint32_t kAll = 0xFFFFFFFF;

// Lane i accesses the element index(i) of `bytes` bytes.
template <class Index>
WarpAccess access(int bytes, Index index, uint32_t active = kAll) {
  WarpAccess access = {.active = active, .bytes = bytes};
  for (uint64_t lane = 0; lane < 32; ++lane)
    access.address[lane] = static_cast<uint64_t>(bytes) * static_cast<uint64_t>(index(lane));
  return access;
}

uint64_t linear(uint64_t lane) { return lane; }
uint64_t same(uint64_t) { return 7; }

testing::AssertionResult sectors_are(const WarpAccess& access, int sectors, int least) {
  if (global_sectors(access) == sectors && least_global_sectors(access) == least)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << global_sectors(access) << " sectors, at least "
                                     << least_global_sectors(access) << ", expected " << sectors << " and "
                                     << least;
}

testing::AssertionResult cost_is(const SharedCost& cost, int wavefronts, int least) {
  if (cost.wavefronts == wavefronts && cost.least == least && cost.conflicts() == wavefronts - least)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << cost.wavefronts << " wavefronts, at least " << cost.least
                                     << ", expected " << wavefronts << " and " << least;
}

testing::AssertionResult load_is(const WarpAccess& access, int wavefronts, int least) {
  return cost_is(shared_load(access), wavefronts, least);
}
testing::AssertionResult store_is(const WarpAccess& access, int wavefronts, int least) {
  return cost_is(shared_store(access), wavefronts, least);
}

TEST(GlobalSectors, Linear) {
  EXPECT_TRUE(sectors_are(access(1, linear), 1, 1));
  EXPECT_TRUE(sectors_are(access(2, linear), 2, 2));
  EXPECT_TRUE(sectors_are(access(4, linear), 4, 4));
  EXPECT_TRUE(sectors_are(access(8, linear), 8, 8));
  EXPECT_TRUE(sectors_are(access(16, linear), 16, 16));
}

TEST(GlobalSectors, AMisalignedStartTakesOneMore) {
  EXPECT_TRUE(sectors_are(access(4, [](uint64_t lane) { return lane + 1; }), 5, 4));
  EXPECT_TRUE(sectors_are(access(1, [](uint64_t lane) { return lane + 31; }), 2, 1));
  EXPECT_TRUE(sectors_are(access(16, [](uint64_t lane) { return lane + 1; }), 17, 16));
  EXPECT_TRUE(sectors_are(access(4, [](uint64_t lane) { return lane + 8; }), 4, 4));
}

TEST(GlobalSectors, Strides) {
  EXPECT_TRUE(sectors_are(access(4, [](uint64_t lane) { return 2 * lane; }), 8, 4));
  EXPECT_TRUE(sectors_are(access(4, [](uint64_t lane) { return 8 * lane; }), 32, 4));
  EXPECT_TRUE(sectors_are(access(4, [](uint64_t lane) { return 1000 * lane; }), 32, 4));
  EXPECT_TRUE(sectors_are(access(1, [](uint64_t lane) { return 32 * lane; }), 32, 1));
  EXPECT_TRUE(sectors_are(access(4, [](uint64_t lane) { return 31 - lane; }), 4, 4));
}

// Bytes that several lanes read count once.
TEST(GlobalSectors, SharedBytes) {
  EXPECT_TRUE(sectors_are(access(4, same), 1, 1));
  EXPECT_TRUE(sectors_are(access(16, [](uint64_t lane) { return lane / 2; }), 8, 8));
  // Two rows far apart, in turns: neighbouring lanes are never in one sector.
  EXPECT_TRUE(sectors_are(access(4, [](uint64_t lane) { return lane % 2 * 1000 + lane / 2; }), 4, 4));
}

TEST(GlobalSectors, PartialWarps) {
  EXPECT_TRUE(sectors_are(access(4, linear, 0), 0, 0));
  EXPECT_TRUE(sectors_are(access(4, linear, 1), 1, 1));
  EXPECT_TRUE(sectors_are(access(4, linear, 0x80000001), 2, 1));
  EXPECT_TRUE(sectors_are(access(4, linear, 0x0000FFFF), 2, 2));
  EXPECT_TRUE(sectors_are(access(4, linear, 0x000001FF), 2, 2));
}

// Addresses are 64-bit numbers; those of the first and the last sector are not special.
TEST(GlobalSectors, LargeAddresses) {
  WarpAccess ends = {.active = 0b111, .bytes = 1};
  ends.address = {~uint64_t{0}, 0, uint64_t{1} << 40};
  EXPECT_TRUE(sectors_are(ends, 3, 1));
}

TEST(SharedMemory, FourBytesTakeOnePass) {
  EXPECT_TRUE(load_is(access(4, linear), 1, 1));
  EXPECT_TRUE(load_is(access(4, same), 1, 1));
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return 31 - lane; }), 1, 1));
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return 2 * lane; }), 2, 1));
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return 3 * lane; }), 1, 1));
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return 32 * lane; }), 32, 1));
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return 33 * lane; }), 1, 1));
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return 1000 + lane; }), 1, 1));
}

// The bank with most words counts, not the number of banks in conflict.
TEST(SharedMemory, TheFullestBankCounts) {
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return lane < 3 ? 32 * lane : lane; }), 3, 1));
  // Lanes 0 and 16 ask for one word, so bank 0 has two words from three lanes.
  EXPECT_TRUE(load_is(access(4, [](uint64_t lane) { return lane == 16 ? 0 : lane == 8 ? 64 : lane; }), 2, 1));
}

TEST(SharedMemory, OneAndTwoBytesCountTheirWords) {
  EXPECT_TRUE(load_is(access(1, linear), 1, 1));
  EXPECT_TRUE(load_is(access(2, linear), 1, 1));
  EXPECT_TRUE(store_is(access(1, linear), 1, 1));
  EXPECT_TRUE(load_is(access(1, [](uint64_t lane) { return 128 * lane; }), 32, 1));
  EXPECT_TRUE(load_is(access(2, [](uint64_t lane) { return 64 * lane; }), 32, 1));
  EXPECT_TRUE(load_is(access(2, [](uint64_t lane) { return 66 * lane; }), 1, 1));
}

// A warp reads a column of a tile of 32 x 32 words: rows of 32 words, then of 33.
TEST(SharedMemory, ATransposition) {
  for (uint64_t column : {0, 5}) {
    EXPECT_TRUE(load_is(access(4, [&](uint64_t lane) { return 32 * lane + column; }), 32, 1));
    EXPECT_TRUE(load_is(access(4, [&](uint64_t lane) { return 33 * lane + column; }), 1, 1));
    EXPECT_TRUE(load_is(access(4, [&](uint64_t lane) { return 32 * lane + (column ^ lane); }), 1, 1));
    EXPECT_TRUE(store_is(access(4, [&](uint64_t lane) { return 32 * lane + column; }), 32, 1));
  }
}

TEST(SharedMemory, EightBytesTakeTwoPasses) {
  EXPECT_TRUE(load_is(access(8, linear), 2, 2));
  EXPECT_TRUE(store_is(access(8, linear), 2, 2));
  // Lane 16 has the banks of lane 0, but is in the other half.
  EXPECT_TRUE(load_is(access(8, [](uint64_t lane) { return lane % 16 + lane / 16 * 160; }), 2, 2));
  // Two words of a bank in each half.
  EXPECT_TRUE(load_is(access(8, [](uint64_t lane) { return 2 * lane; }), 4, 2));
  EXPECT_TRUE(load_is(access(8, [](uint64_t lane) { return 16 * lane; }), 32, 2));
  EXPECT_TRUE(load_is(access(8, [](uint64_t lane) { return 17 * lane; }), 2, 2));
}

TEST(SharedMemory, SixteenBytesTakeFourPasses) {
  EXPECT_TRUE(load_is(access(16, linear), 4, 4));
  EXPECT_TRUE(store_is(access(16, linear), 4, 4));
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return 2 * lane; }), 8, 4));
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return 8 * lane; }), 32, 4));
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return 9 * lane; }), 4, 4));
  // Rows of 8 columns, swizzled: a quarter reads one column of 8 rows.
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return lane % 8 * 8 + (lane / 8 ^ lane % 8); }), 4, 4));
}

// Pairs of lanes with one address halve the passes of a load: 8 bytes once, 16 bytes inside each half.
TEST(SharedMemory, PairsMergePasses) {
  EXPECT_TRUE(load_is(access(8, [](uint64_t lane) { return lane / 2; }), 1, 1));
  EXPECT_TRUE(load_is(access(8, [](uint64_t lane) { return lane / 4 * 2 + lane % 2; }), 1, 1));
  EXPECT_TRUE(load_is(access(8, same), 1, 1));
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return lane / 2; }), 2, 2));
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return lane / 4 * 2 + lane % 2; }), 2, 2));
  EXPECT_TRUE(load_is(access(16, same), 2, 2));
  // Neighbours at a distance of 4 do not count.
  EXPECT_TRUE(load_is(access(8, [](uint64_t lane) { return lane / 8 * 4 + lane % 4; }), 2, 2));
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return lane / 8 * 4 + lane % 4; }), 4, 4));
  // One pair that differs is enough.
  EXPECT_TRUE(load_is(access(16, [](uint64_t lane) { return lane == 31 ? 96 : lane / 2; }), 4, 4));
  // A pass of both quarters of a half: lanes 0-3 and 4-7 read different words of the same banks.
  EXPECT_TRUE(load_is(
      access(16, [](uint64_t lane) { return lane / 16 * 4 + lane % 16 / 8 + lane % 8 / 4 * 8; }), 4, 2));
}

// The whole warp has to meet one condition: here one half has pairs T, T^1 and the other has pairs T, T^2.
TEST(SharedMemory, TheConditionIsOfTheWholeWarp) {
  const auto mixed = [](uint64_t lane) { return lane / 8 * 2 + (lane < 16 ? lane % 4 / 2 : lane % 2); };
  EXPECT_TRUE(load_is(access(16, mixed), 4, 4));
  EXPECT_TRUE(load_is(access(16, mixed, 0x0000FFFF), 1, 1));
  EXPECT_TRUE(load_is(access(16, mixed, 0xFFFF0000), 1, 1));
}

TEST(SharedMemory, StoresAreNotMerged) {
  EXPECT_TRUE(store_is(access(8, [](uint64_t lane) { return lane / 2; }), 2, 2));
  EXPECT_TRUE(store_is(access(16, [](uint64_t lane) { return lane / 2; }), 4, 4));
  EXPECT_TRUE(store_is(access(16, same), 4, 4));
  EXPECT_TRUE(store_is(access(4, same), 1, 1));
}

TEST(SharedMemory, PartialWarps) {
  for (const int bytes : {1, 2, 4, 8, 16}) {
    EXPECT_TRUE(load_is(access(bytes, linear, 0), 0, 0));
    EXPECT_TRUE(store_is(access(bytes, linear, 0), 0, 0));
    EXPECT_TRUE(load_is(access(bytes, linear, 1u << 31), 1, 1));
  }
  EXPECT_TRUE(load_is(access(8, linear, 0x0000FFFF), 1, 1));
  EXPECT_TRUE(load_is(access(8, linear, 0xFFFF0000), 1, 1));
  EXPECT_TRUE(load_is(access(16, linear, 0x00FF00FF), 2, 2));
  // A lane whose partner is inactive is no obstacle to merging.
  EXPECT_TRUE(load_is(access(16, same, 1u << 0 | 1u << 15), 1, 1));
  EXPECT_TRUE(load_is(access(16, same, 1u << 15 | 1u << 16), 2, 2));
  // Even lanes alone: their partners T^1 are inactive, so both halves are one pass, and lanes 0 and 16 ask
  // for different words of a bank.
  EXPECT_TRUE(load_is(access(8, linear, 0x55555555), 2, 1));
}

// The rules again, in the simplest form: sets of words.
int wavefronts_by_sets(const WarpAccess& access, bool load) {
  const int bytes = access.bytes;
  const auto active = [&](int lane) { return (access.active >> lane & 1) != 0; };
  int lanes_of_pass = bytes <= 4 ? 32 : 128 / bytes;
  for (const int distance : {1, 2}) {
    bool agree = load && bytes > 4;
    for (int lane = 0; lane < 32; ++lane)
      if (active(lane) && active(lane ^ distance))
        agree &=
            access.address[static_cast<size_t>(lane)] == access.address[static_cast<size_t>(lane ^ distance)];
    if (agree) {
      lanes_of_pass *= 2;
      break;
    }
  }
  int wavefronts = 0;
  for (int first = 0; first < 32; first += lanes_of_pass) {
    std::map<uint64_t, std::set<uint64_t>> words_of_bank;
    for (int lane = first; lane < first + lanes_of_pass; ++lane)
      for (int byte = 0; active(lane) && byte < bytes; ++byte) {
        const uint64_t word = (access.address[static_cast<size_t>(lane)] + static_cast<uint64_t>(byte)) / 4;
        words_of_bank[word % 32].insert(word);
      }
    size_t most = 0;
    for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
    wavefronts += static_cast<int>(most);
  }
  return wavefronts;
}

TEST(SharedMemory, RandomAccessesAgreeWithTheSimplestForm) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    WarpAccess access = {.active = static_cast<uint32_t>(i % 3 == 0 ? kAll : random()),
                         .bytes = 1 << random() % 5};
    const uint64_t range = uint64_t{1} << random() % 12;
    for (size_t lane = 0; lane < 32; ++lane) {
      const size_t partner = lane & (i % 5 == 0 ? ~size_t{1} : i % 5 == 1 ? ~size_t{2} : ~size_t{0});
      access.address[lane] =
          partner != lane ? access.address[partner] : random() % range * static_cast<uint64_t>(access.bytes);
    }
    ASSERT_EQ(shared_load(access).wavefronts, wavefronts_by_sets(access, true)) << "case " << i;
    ASSERT_EQ(shared_store(access).wavefronts, wavefronts_by_sets(access, false)) << "case " << i;
    ASSERT_GE(shared_load(access).conflicts(), 0);
    std::set<uint64_t> sectors, addresses;
    for (size_t lane = 0; lane < 32; ++lane)
      if ((access.active >> lane & 1) != 0) {
        sectors.insert(access.address[lane] / 32);
        addresses.insert(access.address[lane]);
      }
    ASSERT_EQ(global_sectors(access), static_cast<int>(sectors.size()));
    ASSERT_EQ(least_global_sectors(access), (static_cast<int>(addresses.size()) * access.bytes + 31) / 32);
  }
}

}  // namespace
}  // namespace simt
