// cub::WarpReduce: reduces one value per lane of a warp, or of an aligned power-of-two part of it, to one
// value. The result is valid in the first lane of the part only. Lanes after one that has exited are left
// out; CUB does not define that case.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cuda/functional>
#include <cuda/std/functional>

namespace cub {

template <class T, int LogicalWarpThreads = 32>
class WarpReduce {
  static_assert(LogicalWarpThreads >= 1 && LogicalWarpThreads <= 32 &&
                (LogicalWarpThreads & (LogicalWarpThreads - 1)) == 0);

 public:
  struct TempStorage {};  // empty: the values are passed in records

  explicit WarpReduce(TempStorage&) {}

  template <class Operation>
  T Reduce(T input, Operation operation, int valid, simt::Place place = simt::Place::current()) {
    const unsigned first = static_cast<unsigned>(simt::lane_id()) / LogicalWarpThreads * LogicalWarpThreads;
    const unsigned mask = (LogicalWarpThreads == 32 ? 0xFFFFFFFFu : (1u << LogicalWarpThreads % 32) - 1)
                          << first;
    Record<Operation> record{input, valid, &operation};
    simt::warp_collective(mask, kReduce<Operation>, &record, place);
    return record.value;
  }
  template <class Operation>
  T Reduce(T input, Operation operation, simt::Place place = simt::Place::current()) {
    return Reduce(input, operation, LogicalWarpThreads, place);
  }
  T Sum(T input, simt::Place place = simt::Place::current()) {
    return Reduce(input, cuda::std::plus<>(), LogicalWarpThreads, place);
  }
  T Sum(T input, int valid, simt::Place place = simt::Place::current()) {
    return Reduce(input, cuda::std::plus<>(), valid, place);
  }

 private:
  template <class Operation>
  struct Record {
    T value;
    int valid;
    Operation* operation;
  };

  // The values of `count` lanes from `lane` on, in CUB's tree of neighbours: ((0 1) (2 3)) ((4 5) (6 7)) ...
  // Works on copies. The thread sanitizer checks `operation`, unlike this function, and would report its
  // accesses to other lanes' records as races.
  template <class Operation>
  __attribute__((no_sanitize("thread"))) static T reduced(void* const* records, int lane, int count,
                                                          Operation& operation) {
    if (count == 1) return static_cast<Record<Operation>*>(records[lane])->value;
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
    T first = reduced(records, lane, left, operation);
    T second = reduced(records, lane + left, count - left, operation);
    return operation(first, second);
  }
  template <class Operation>
  __attribute__((no_sanitize("thread"))) static void run(void* const* records, unsigned present) {
    const int lane = std::countr_zero(present);
    auto& first = *static_cast<Record<Operation>*>(records[lane]);
    Operation operation = *first.operation;
    const int lanes = std::countr_one(present >> lane);
    first.value = reduced(records, lane, first.valid < lanes ? first.valid : lanes, operation);
  }

  template <class Operation>
  static constexpr simt::WarpOperation kReduce = {"cub::WarpReduce", run<Operation>};
};

}  // namespace cub
