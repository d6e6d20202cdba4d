// cub::DeviceReduce: reduces an array to one value.
#pragma once

#include <cub/device/device_launch.cuh>

#include <cstdint>
#include <cuda/functional>
#include <cuda/std/functional>
#include <iterator>

namespace cub {
namespace detail {

template <class Input, class Output, class Operation, class T>
void reduce_all(Input input, Output output, int64_t count, Operation operation, T initial) {
  for (int64_t i = 0; i < count; ++i) initial = operation(initial, input[i]);
  *output = initial;
}

}  // namespace detail

struct DeviceReduce {
  template <class Input, class Output, class Operation, class T, class Count>
  static cudaError_t Reduce(void* storage, size_t& storage_bytes, Input input, Output output, Count count,
                            Operation operation, T initial, cudaStream_t stream = nullptr) {
    return detail::launch(storage, storage_bytes, 0, stream, detail::reduce_all<Input, Output, Operation, T>,
                          input, output, static_cast<int64_t>(count), operation, initial);
  }

  template <class Input, class Output, class Count>
  static cudaError_t Sum(void* storage, size_t& storage_bytes, Input input, Output output, Count count,
                         cudaStream_t stream = nullptr) {
    using T = typename std::iterator_traits<Input>::value_type;
    return Reduce(storage, storage_bytes, input, output, count, cuda::std::plus<>(), T{}, stream);
  }
};

}  // namespace cub
