#include <simt/warp.h>

#include <bit>

namespace simt::detail {

namespace {

VoteRecord& vote_of(void* const* records, unsigned lanes) {
  return *static_cast<VoteRecord*>(records[std::countr_zero(lanes)]);
}

}  // namespace

void run_ballot(void* const* records, unsigned present) {
  uint64_t ballot = 0;
  for (unsigned rest = present; rest != 0; rest &= rest - 1)
    ballot |= vote_of(records, rest).value << std::countr_zero(rest);
  for (unsigned rest = present; rest != 0; rest &= rest - 1)
    vote_of(records, rest).result = static_cast<uint64_t>(present) << 32 | ballot;
}

void run_match_any(void* const* records, unsigned present) {
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    VoteRecord& record = vote_of(records, rest);
    for (unsigned others = present; others != 0; others &= others - 1)
      if (vote_of(records, others).value == record.value) record.result |= 1u << std::countr_zero(others);
  }
}

void run_match_all(void* const* records, unsigned present) {
  const uint64_t first = vote_of(records, present).value;
  bool same = true;
  for (unsigned rest = present; rest != 0; rest &= rest - 1)
    same = same && vote_of(records, rest).value == first;
  for (unsigned rest = present; rest != 0; rest &= rest - 1) vote_of(records, rest).result = same;
}

void run_sync(void* const*, unsigned) {}

}  // namespace simt::detail
