#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/banks/access.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace rondo::program {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;  // far beyond any memory; a larger address is a mistake

// Calls f(lane, address) for the active lanes of the mask.
template <class F>
void for_each_lane(const simt::WarpAccess& access, uint32_t mask, const F& f) {
  for (int lane = 0; lane < 32; ++lane)
    if ((access.active & mask) >> lane & 1) f(lane, access.address[static_cast<size_t>(lane)]);
}

}  // namespace

simt::WarpAccess access_of(const AccessArguments& arguments) {
  const Expression& index = *arguments.index;
  simt::WarpAccess access{.active = 0xFFFFFFFF, .bytes = arguments.width, .address = {}};
  const int64_t most = kMostBytes / arguments.element_bytes();
  for (int thread = 0; thread < 32; ++thread) {
    const int64_t value = index.at(thread);
    if (value < 0 || value >= most)
      throw Error(bad_argument("the expression '", index.text(), "' is ", value, " for thread ", thread,
                               ", must be from 0 to below ", most));
    const int64_t address = value * arguments.element_bytes();
    if (address % arguments.width != 0)
      throw Error(bad_argument("thread ", thread, ": address ", address, " (", counted(value, "element"),
                               " of ", counted(arguments.element_bytes(), "byte"),
                               "), must be a multiple of ", arguments.width, " (try --element ",
                               arguments.width, ")"));
    access.address[static_cast<size_t>(thread)] = static_cast<uint64_t>(address);
  }
  return access;
}

std::vector<BankRow> bank_rows(const simt::WarpAccess& access, bool store) {
  const simt::SharedPasses passes =
      store ? simt::passes_of_shared_store(access) : simt::passes_of_shared_load(access);
  const int words_of_lane = std::max(1, access.bytes / simt::kBankBytes);
  std::vector<BankRow> rows;
  for (int pass = 0; pass < passes.count; ++pass) {
    const uint32_t mask = passes.lanes[static_cast<size_t>(pass)];
    // The n-th different word of a bank, in the order of the lanes, is served by the n-th wavefront.
    std::array<std::vector<std::pair<uint64_t, Lanes>>, simt::kBanks> words_of_bank;
    size_t wavefronts = 0;
    for_each_lane(access, mask, [&](int lane, uint64_t address) {
      for (int i = 0; i < words_of_lane; ++i) {
        const uint64_t word = address / simt::kBankBytes + static_cast<uint64_t>(i);
        auto& words = words_of_bank[word % simt::kBanks];
        auto found = std::ranges::find(words, word, [](const auto& entry) { return entry.first; });
        if (found == words.end()) found = words.insert(found, {word, {}});
        found->second.push_back(lane);
        wavefronts = std::max(wavefronts, words.size());
      }
    });
    for (size_t n = 0; n < wavefronts; ++n) {
      BankRow row{std::countr_zero(mask), 31 - std::countl_zero(mask), n > 0, {}};
      for (size_t bank = 0; bank < simt::kBanks; ++bank)
        if (n < words_of_bank[bank].size()) row.lanes[bank] = words_of_bank[bank][n].second;
      rows.push_back(row);
    }
  }
  return rows;
}

int conflict_degree(const std::vector<BankRow>& rows) {
  int degree = 0, most = 0;
  for (const BankRow& row : rows) {
    degree = row.conflict ? degree + 1 : 1;
    most = std::max(most, degree);
  }
  return most;
}

int cell_bytes(const simt::WarpAccess& access) { return std::min(access.bytes, 4); }

std::vector<SectorRow> sector_rows(const simt::WarpAccess& access) {
  const uint64_t cell = static_cast<uint64_t>(cell_bytes(access));
  std::map<uint64_t, SectorRow> rows;
  for_each_lane(access, access.active, [&](int lane, uint64_t address) {
    for (uint64_t byte = address; byte < address + static_cast<uint64_t>(access.bytes); byte += cell) {
      const uint64_t start = byte / simt::kSectorBytes * simt::kSectorBytes;
      SectorRow& row = rows[start];
      row.address = start;
      row.cells.resize(simt::kSectorBytes / cell);
      row.cells[(byte - start) / cell].push_back(lane);
    }
  });
  std::vector<SectorRow> sorted;
  for (auto& [address, row] : rows) sorted.push_back(std::move(row));
  return sorted;
}

int64_t bytes_requested(const simt::WarpAccess& access) {
  std::set<uint64_t> addresses;
  for_each_lane(access, access.active, [&](int, uint64_t address) { addresses.insert(address); });
  return static_cast<int64_t>(addresses.size()) * access.bytes;
}

}  // namespace rondo::program
