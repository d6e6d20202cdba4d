// Warp operations: shuffles, votes, matches, reductions, __syncwarp.
//
// Every lane passes a record (its arguments and space for its result) and waits until every lane of its mask
// that has not exited has arrived; the last lane computes the results of all lanes. So no lane can overwrite
// a value that another lane has yet to read, and lanes outside the mask are never waited for.
#pragma once

#include <simt/barrier.h>
#include <simt/builtins.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace simt {

// The computation of the last lane: `records[lane]` is the record of that lane, for every lane in `present`.
// Lanes that exited are in the mask but not in `present`.
struct WarpOperation {
  const char* name;
  void (*run)(void* const* records, unsigned present);
};

// Waits for the lanes of `mask`, after which operation.run has been called once. All lanes of a call must
// pass the same operation and the same mask.
void warp_collective(unsigned mask, const WarpOperation& operation, void* record, Place place);

namespace detail {

template <class T>
struct ShuffleRecord {
  T value;
  int source;  // lane to read from; the caller ensures 0 to 31
  T result;
};

// Excludes a function from the thread sanitizer: a warp operation orders its own operands and, unlike
// __syncwarp, no other memory.
#define SIMT_NO_RACE_CHECK __attribute__((no_sanitize("thread")))

template <class T>
SIMT_NO_RACE_CHECK void run_shuffle(void* const* records, unsigned present) {
  for (unsigned rest = present; rest != 0; rest &= rest - 1) {
    auto* record = static_cast<ShuffleRecord<T>*>(records[std::countr_zero(rest)]);
    if (present >> record->source & 1) {
      record->result = static_cast<const ShuffleRecord<T>*>(records[record->source])->value;
    } else {  // an exited lane has no value: all bits set, NaN for float
      unsigned char* bytes = reinterpret_cast<unsigned char*>(&record->result);
      for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = 0xFF;
    }
  }
}

template <class T>
inline constexpr WarpOperation kShuffle = {"__shfl_sync", run_shuffle<T>};
template <class T>
inline constexpr WarpOperation kShuffleUp = {"__shfl_up_sync", run_shuffle<T>};
template <class T>
inline constexpr WarpOperation kShuffleDown = {"__shfl_down_sync", run_shuffle<T>};
template <class T>
inline constexpr WarpOperation kShuffleXor = {"__shfl_xor_sync", run_shuffle<T>};

template <class T>
inline T shuffle(unsigned mask, const WarpOperation& operation, T value, int source, Place place) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) <= 8), "a shuffle moves up to 8 bytes");
  ShuffleRecord<T> record{value, source, value};
  warp_collective(mask, operation, &record, place);
  return record.result;
}

struct VoteRecord {
  uint64_t value;
  uint64_t result;
};

void run_ballot(void* const* records, unsigned present);
void run_match_any(void* const* records, unsigned present);
void run_match_all(void* const* records, unsigned present);
void run_sync(void* const* records, unsigned present);

inline constexpr WarpOperation kBallot = {"__ballot_sync", run_ballot};
inline constexpr WarpOperation kAny = {"__any_sync", run_ballot};
inline constexpr WarpOperation kAll = {"__all_sync", run_ballot};
inline constexpr WarpOperation kMatchAny = {"__match_any_sync", run_match_any};
inline constexpr WarpOperation kMatchAll = {"__match_all_sync", run_match_all};
inline constexpr WarpOperation kSync = {"__syncwarp", run_sync};

// Low half: the lanes with a non-zero predicate. High half: the lanes present.
inline uint64_t vote(unsigned mask, const WarpOperation& operation, bool predicate, Place place) {
  VoteRecord record{predicate, 0};
  warp_collective(mask, operation, &record, place);
  return record.result;
}

template <class T>
struct ReduceRecord {
  T value;
  T result;
};

template <class T, T (*Combine)(T, T)>
SIMT_NO_RACE_CHECK void run_reduce(void* const* records, unsigned present) {
  T total = static_cast<ReduceRecord<T>*>(records[std::countr_zero(present)])->value;
  for (unsigned rest = present & (present - 1); rest != 0; rest &= rest - 1)
    total = Combine(total, static_cast<ReduceRecord<T>*>(records[std::countr_zero(rest)])->value);
  for (unsigned rest = present; rest != 0; rest &= rest - 1)
    static_cast<ReduceRecord<T>*>(records[std::countr_zero(rest)])->result = total;
}

#undef SIMT_NO_RACE_CHECK

template <class T>
inline T reduce(unsigned mask, const WarpOperation& operation, T value, Place place) {
  ReduceRecord<T> record{value, value};
  warp_collective(mask, operation, &record, place);
  return record.result;
}

}  // namespace detail
}  // namespace simt

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
                     simt::Place place = simt::Place::current()) {
  const int lane = simt::lane_id();
  return simt::detail::shuffle(mask, simt::detail::kShuffle<T>, value,
                               (lane & -width) | (source & (width - 1)), place);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                        simt::Place place = simt::Place::current()) {
  const int lane = simt::lane_id();
  const int source = lane - static_cast<int>(delta);
  return simt::detail::shuffle(mask, simt::detail::kShuffleUp<T>, value,
                               source < (lane & -width) ? lane : source, place);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize,
                          simt::Place place = simt::Place::current()) {
  const int lane = simt::lane_id();
  const int source = lane + static_cast<int>(delta);
  return simt::detail::shuffle(mask, simt::detail::kShuffleDown<T>, value,
                               source > (lane | (width - 1)) ? lane : source, place);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = warpSize,
                         simt::Place place = simt::Place::current()) {
  const int lane = simt::lane_id();
  const int source = lane ^ lane_mask;  // earlier groups can be read, later ones cannot
  return simt::detail::shuffle(mask, simt::detail::kShuffleXor<T>, value,
                               source > (lane | (width - 1)) ? lane : source, place);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, simt::Place place = simt::Place::current()) {
  return static_cast<unsigned>(simt::detail::vote(mask, simt::detail::kBallot, predicate != 0, place));
}

inline int __any_sync(unsigned mask, int predicate, simt::Place place = simt::Place::current()) {
  return static_cast<unsigned>(simt::detail::vote(mask, simt::detail::kAny, predicate != 0, place)) != 0;
}

inline int __all_sync(unsigned mask, int predicate, simt::Place place = simt::Place::current()) {
  const uint64_t votes = simt::detail::vote(mask, simt::detail::kAll, predicate != 0, place);
  return static_cast<unsigned>(votes) == static_cast<unsigned>(votes >> 32);
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, simt::Place place = simt::Place::current()) {
  static_assert(sizeof(T) <= 8);
  simt::detail::VoteRecord record{0, 0};
  std::memcpy(&record.value, &value, sizeof(T));
  simt::warp_collective(mask, simt::detail::kMatchAny, &record, place);
  return static_cast<unsigned>(record.result);
}

// The mask if all its lanes have the same value, else 0.
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate,
                                 simt::Place place = simt::Place::current()) {
  static_assert(sizeof(T) <= 8);
  simt::detail::VoteRecord record{0, 0};
  std::memcpy(&record.value, &value, sizeof(T));
  simt::warp_collective(mask, simt::detail::kMatchAll, &record, place);
  *predicate = record.result != 0;
  return *predicate ? mask : 0;
}

inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, simt::Place place = simt::Place::current()) {
  simt::warp_collective(mask, simt::detail::kSync, nullptr, place);
}

// The converged lanes: always the caller alone here, which is a valid result on a GPU, too.
inline unsigned __activemask() { return 1u << simt::lane_id(); }

// __reduce_add_sync and related functions, for the types of CUDA: int and unsigned (min, max, add), unsigned
// (and, or, xor).
#define SIMT_WARP_REDUCE(NAME, TYPE, EXPRESSION)                                                 \
  namespace simt::detail {                                                                       \
  inline TYPE combine##NAME(TYPE a, TYPE b) { return EXPRESSION; }                               \
  inline constexpr WarpOperation kReduce##NAME##TYPE = {#NAME, run_reduce<TYPE, combine##NAME>}; \
  }                                                                                              \
  inline TYPE NAME(unsigned mask, TYPE value, simt::Place place = simt::Place::current()) {      \
    return simt::detail::reduce<TYPE>(mask, simt::detail::kReduce##NAME##TYPE, value, place);    \
  }
SIMT_WARP_REDUCE(__reduce_add_sync, unsigned, a + b)
SIMT_WARP_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
SIMT_WARP_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
SIMT_WARP_REDUCE(__reduce_and_sync, unsigned, a& b)
SIMT_WARP_REDUCE(__reduce_or_sync, unsigned, a | b)
SIMT_WARP_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
SIMT_WARP_REDUCE(__reduce_min_sync, int, a < b ? a : b)
SIMT_WARP_REDUCE(__reduce_max_sync, int, a > b ? a : b)
// Sums wrap around; signed overflow would be undefined in C++.
SIMT_WARP_REDUCE(__reduce_add_sync, int,
                 static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
#undef SIMT_WARP_REDUCE
