// cub::BlockReduce: reduces one value per thread to one value. The result is valid in thread 0 only.
//
// Every thread writes its value to the storage; after one barrier thread 0 reduces them in the order of CUB's
// BLOCK_REDUCE_WARP_REDUCTIONS: the values of a warp in a tree of neighbours, ((0 1) (2 3)) ((4 5) (6 7))
// ..., and then the warps from the first to the last. As in CUB, reusing the storage requires a barrier
// first.
#pragma once

#include <cuda_runtime.h>

#include <bit>

#include <cuda/functional>
#include <cuda/std/functional>

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC,
};

template <class T, int BlockDimX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int BlockDimY = 1,
          int BlockDimZ = 1>
class BlockReduce {
  static constexpr int kThreads = BlockDimX * BlockDimY * BlockDimZ;

 public:
  struct TempStorage {
    alignas(T) unsigned char bytes[kThreads * sizeof(T)];
  };

  explicit BlockReduce(TempStorage& storage) : values_(reinterpret_cast<T*>(storage.bytes)) {}

  template <class Operation>
  T Reduce(T input, Operation operation, int valid, simt::Place place = simt::Place::current()) {
    const int thread = static_cast<int>(simt::thread_rank);
    values_[thread] = input;
    simt::block_barrier(place);
    if (thread != 0) return input;
    for (int warp = 0; warp < valid; warp += 32) {
      const int count = valid - warp < 32 ? valid - warp : 32;
      const T sum = of_warp(values_ + warp, count, operation);
      input = warp == 0 ? sum : operation(input, sum);
    }
    return input;
  }
  template <class Operation>
  T Reduce(T input, Operation operation, simt::Place place = simt::Place::current()) {
    return Reduce(input, operation, kThreads, place);
  }
  template <class Operation, int Items>
  T Reduce(T (&inputs)[Items], Operation operation, simt::Place place = simt::Place::current()) {
    T partial = inputs[0];
    for (int i = 1; i < Items; ++i) partial = operation(partial, inputs[i]);
    return Reduce(partial, operation, kThreads, place);
  }

  T Sum(T input, simt::Place place = simt::Place::current()) {
    return Reduce(input, cuda::std::plus<>(), kThreads, place);
  }
  T Sum(T input, int valid, simt::Place place = simt::Place::current()) {
    return Reduce(input, cuda::std::plus<>(), valid, place);
  }
  template <int Items>
  T Sum(T (&inputs)[Items], simt::Place place = simt::Place::current()) {
    return Reduce(inputs, cuda::std::plus<>(), place);
  }

 private:
  // Reads each value once, and by its members, as the operation does. partial[l] has the result of 2^l
  // adjacent pairs.
  template <class Operation>
  static T of_warp(const T* values, int count, Operation& operation) {
    if (count == 1) return values[0];
    const T pair = operation(values[0], values[1]);
    T partial[] = {pair, pair, pair, pair, pair};
    const int pairs = count / 2;
    for (int i = 1; i < pairs; ++i) {
      T sum = operation(values[2 * i], values[2 * i + 1]);
      int level = 0;
      for (; (i >> level & 1) != 0; ++level) sum = operation(partial[level], sum);
      partial[level] = sum;
    }
    int level = std::countr_zero(static_cast<unsigned>(pairs));
    T sum = count % 2 != 0 ? operation(partial[level], values[count - 1]) : partial[level];
    while (pairs >> ++level != 0)
      if ((pairs >> level & 1) != 0) sum = operation(partial[level], sum);
    return sum;
  }

  T* values_;
};

}  // namespace cub
