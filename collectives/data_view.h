// DataView: `size` contiguous elements in device memory, of a type that is known at run time.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/view.h>

#include <cstddef>
#include <type_traits>

namespace rondo {

template <class Void>
struct BasicDataView {
  Void* data = nullptr;
  int64_t size = 0;
  DType dtype = DType::float32;

  BasicDataView() = default;
  BasicDataView(Void* from, int64_t elements, DType type) : data(from), size(elements), dtype(type) {}
  template <class T>
  requires(std::is_convertible_v<T*, Void*>) BasicDataView(VectorView<T> typed)
      : data(typed.data), size(typed.size), dtype(dtype_of<std::remove_const_t<T>>) {}
  template <class Other>
  requires(std::is_same_v<Void, const Other>) BasicDataView(BasicDataView<Other> other)
      : data(other.data), size(other.size), dtype(other.dtype) {}

  int64_t bytes() const { return size * size_of(dtype); }

  // Elements [begin, begin + count).
  BasicDataView part(int64_t begin, int64_t count) const {
    using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
    return {static_cast<Byte*>(data) + begin * size_of(dtype), count, dtype};
  }
};

// The maximum size of a vector in bytes: larger than any device's memory, small enough that sums of sizes and
// addresses do not overflow.
inline constexpr int64_t kMostVectorBytes = int64_t{1} << 50;

using DataView = BasicDataView<void>;
using ConstDataView = BasicDataView<const void>;

}  // namespace rondo
