// cub::DeviceScan: the prefix sums of an array. In-place operation is supported.
#pragma once

#include <cub/device/device_launch.cuh>

#include <cstdint>
#include <iterator>

namespace cub {
namespace detail {

template <class Input, class Output>
void scan_all(Input input, Output output, int64_t count, bool inclusive) {
  typename std::iterator_traits<Input>::value_type sum{};
  for (int64_t i = 0; i < count; ++i) {
    const auto before = sum;
    sum = sum + input[i];
    output[i] = inclusive ? sum : before;
  }
}

}  // namespace detail

struct DeviceScan {
  template <class Input, class Output, class Count>
  static cudaError_t ExclusiveSum(void* storage, size_t& storage_bytes, Input input, Output output,
                                  Count count, cudaStream_t stream = nullptr) {
    return detail::launch(storage, storage_bytes, 0, stream, detail::scan_all<Input, Output>, input, output,
                          static_cast<int64_t>(count), false);
  }

  template <class Input, class Output, class Count>
  static cudaError_t InclusiveSum(void* storage, size_t& storage_bytes, Input input, Output output,
                                  Count count, cudaStream_t stream = nullptr) {
    return detail::launch(storage, storage_bytes, 0, stream, detail::scan_all<Input, Output>, input, output,
                          static_cast<int64_t>(count), true);
  }
};

}  // namespace cub
