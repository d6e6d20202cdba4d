#include <simt/warp_access.h>

#include <algorithm>
#include <bit>

namespace simt {
namespace {

// A set of at most 32 numbers: a hash table with open addressing. Only `used_` has to be cleared. Numbers
// that differ by a constant, the usual case, rarely collide in Fibonacci hashing.
class SmallSet {
 public:
  // Returns whether the number is new.
  bool add(uint64_t number) {
    uint64_t slot = (number * 0x9E3779B97F4A7C15) >> 58;
    for (; used_ >> slot & 1; slot = (slot + 1) % 64) {
      if (numbers_[slot] == number) return false;
    }
    used_ |= uint64_t{1} << slot;
    numbers_[slot] = number;
    return true;
  }

 private:
  uint64_t used_ = 0;
  uint64_t numbers_[64];  // valid where the bit of `used_` is set
};

// Calls f(lane) for each lane of the mask.
template <class F>
void for_each_lane(uint32_t lanes, F&& f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<size_t>(std::countr_zero(lanes)));
}

int distinct_blocks(const WarpAccess& access, int log2_bytes) {
  std::array<uint64_t, 32> block;
  size_t lanes = 0;
  for_each_lane(access.active, [&](size_t lane) { block[lanes++] = access.address[lane] >> log2_bytes; });
  // Most accesses ascend with the lane: a block is new if it is not the previous one.
  int count = lanes != 0, descents = 0;
  for (size_t i = 1; i < lanes; ++i) {
    count += block[i] != block[i - 1];
    descents += block[i] < block[i - 1];
  }
  if (descents == 0) return count;
  SmallSet blocks;
  count = 0;
  for (size_t i = 0; i < lanes; ++i) count += blocks.add(block[i]);
  return count;
}

// Whether each active lane has the address of lane ^ distance, or that lane is inactive.
bool pairs_agree(const WarpAccess& access, int distance) {
  const uint32_t first_of_pairs = distance == 1 ? 0x55555555 : 0x33333333;
  for (uint32_t lanes = access.active & access.active >> distance & first_of_pairs; lanes != 0;
       lanes &= lanes - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(lanes));
    if (access.address[lane] != access.address[lane + static_cast<size_t>(distance)]) return false;
  }
  return true;
}

SharedPasses split(const WarpAccess& access, int lanes_of_pass) {
  SharedPasses passes;
  const uint32_t first = lanes_of_pass == 32 ? ~0u : (1u << lanes_of_pass) - 1;
  for (int lane = 0; lane < 32; lane += lanes_of_pass) {
    const uint32_t lanes = access.active & first << lane;
    if (lanes != 0) passes.lanes[static_cast<size_t>(passes.count++)] = lanes;
  }
  return passes;
}

int lanes_of_pass(const WarpAccess& access) { return std::min(32, kBanks * kBankBytes / access.bytes); }

// The largest number of distinct words in one bank, of at least one lane.
int wavefronts_of(const WarpAccess& access, uint32_t lanes) {
  // Accesses are aligned, so one of 8 or 16 bytes takes a whole group of 2 or 4 banks. Counting groups is
  // counting banks.
  const int log2_bytes = std::max(2, std::countr_zero(static_cast<unsigned>(access.bytes)));
  const uint64_t groups = (kBanks * kBankBytes) >> log2_bytes;
  uint64_t word_of_bank[kBanks];  // the first word of a bank; valid where the bit of `used` is set
  uint32_t used = 0;
  uint8_t more_words[kBanks] = {};  // of a bank, besides its first
  uint8_t most = 0;
  SmallSet others;
  for_each_lane(lanes, [&](size_t lane) {
    const uint64_t word = access.address[lane] >> log2_bytes, bank = word & (groups - 1);
    if ((used >> bank & 1) == 0) {
      used |= 1u << bank;
      word_of_bank[bank] = word;
    } else if (word_of_bank[bank] != word && others.add(word)) {
      most = std::max(most, ++more_words[bank]);
    }
  });
  return most + 1;
}

SharedCost cost_of(const WarpAccess& access, const SharedPasses& passes) {
  SharedCost cost = {0, passes.count};
  for (int i = 0; i < passes.count; ++i)
    cost.wavefronts += wavefronts_of(access, passes.lanes[static_cast<size_t>(i)]);
  return cost;
}

}  // namespace

int global_sectors(const WarpAccess& access) { return distinct_blocks(access, 5); }

int least_global_sectors(const WarpAccess& access) {
  const int log2_bytes = std::countr_zero(static_cast<unsigned>(access.bytes));
  const int bytes = distinct_blocks(access, log2_bytes) * access.bytes;
  return (bytes + kSectorBytes - 1) / kSectorBytes;
}

SharedPasses passes_of_shared_store(const WarpAccess& access) { return split(access, lanes_of_pass(access)); }

SharedPasses passes_of_shared_load(const WarpAccess& access) {
  const int lanes = lanes_of_pass(access);
  const bool merged = lanes < 32 && (pairs_agree(access, 1) || pairs_agree(access, 2));
  return split(access, merged ? 2 * lanes : lanes);
}

SharedCost shared_load(const WarpAccess& access) { return cost_of(access, passes_of_shared_load(access)); }
SharedCost shared_store(const WarpAccess& access) { return cost_of(access, passes_of_shared_store(access)); }

}  // namespace simt
