// cub::BlockScan: for every thread the reduction of the values of all threads before it (exclusive), or
// including its own value (inclusive).
//
// Every thread writes its value to the storage, thread 0 computes the prefixes, and every thread reads its
// own: two barriers. As in CUB, reusing the storage requires a barrier first.
#pragma once

#include <cuda_runtime.h>

#include <cuda/std/functional>

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int BlockDimX, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int BlockDimY = 1,
          int BlockDimZ = 1>
class BlockScan {
  static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;

 public:
  struct TempStorage {
    alignas(T) unsigned char bytes[kThreads * sizeof(T)];
  };

  explicit BlockScan(TempStorage& storage) : prefixes_(reinterpret_cast<T*>(storage.bytes)) {}

  template <class Operation>
  void InclusiveScan(T input, T& output, Operation operation, T& block_aggregate,
                     simt::Place place = simt::Place::current()) {
    scan(input, operation, place);
    output = prefixes_[simt::thread_rank];
    block_aggregate = prefixes_[kThreads - 1];
  }
  template <class Operation>
  void InclusiveScan(T input, T& output, Operation operation, simt::Place place = simt::Place::current()) {
    T aggregate;
    InclusiveScan(input, output, operation, aggregate, place);
  }

  // The aggregate does not include the initial value.
  template <class Operation>
  void ExclusiveScan(T input, T& output, T initial, Operation operation, T& block_aggregate,
                     simt::Place place = simt::Place::current()) {
    scan(input, operation, place);
    output = simt::thread_rank == 0 ? initial : operation(initial, prefixes_[simt::thread_rank - 1]);
    block_aggregate = prefixes_[kThreads - 1];
  }
  template <class Operation>
  void ExclusiveScan(T input, T& output, T initial, Operation operation,
                     simt::Place place = simt::Place::current()) {
    T aggregate;
    ExclusiveScan(input, output, initial, operation, aggregate, place);
  }

  void InclusiveSum(T input, T& output, simt::Place place = simt::Place::current()) {
    InclusiveScan(input, output, cuda::std::plus<>(), place);
  }
  void InclusiveSum(T input, T& output, T& block_aggregate, simt::Place place = simt::Place::current()) {
    InclusiveScan(input, output, cuda::std::plus<>(), block_aggregate, place);
  }
  void ExclusiveSum(T input, T& output, simt::Place place = simt::Place::current()) {
    ExclusiveScan(input, output, T{}, cuda::std::plus<>(), place);
  }
  void ExclusiveSum(T input, T& output, T& block_aggregate, simt::Place place = simt::Place::current()) {
    ExclusiveScan(input, output, T{}, cuda::std::plus<>(), block_aggregate, place);
  }

 private:
  template <class Operation>
  void scan(const T& input, Operation operation, simt::Place place) {
    prefixes_[simt::thread_rank] = input;
    simt::block_barrier(place);
    if (simt::thread_rank == 0)
      for (int i = 1; i < kThreads; ++i) prefixes_[i] = operation(prefixes_[i - 1], prefixes_[i]);
    simt::block_barrier(place);
  }

  T* prefixes_;
};

}  // namespace cub
