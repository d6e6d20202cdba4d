// Shape and Tensor: the data that operations of a network read and write.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

namespace rondo::nn {

// Shape of one sample, without the batch: an image in NHWC order, or a vector with height = width = 1.
struct Shape {
  int64_t height = 1;
  int64_t width = 1;
  int64_t channels = 1;

  int64_t size() const { return height * width * channels; }
  bool operator==(const Shape&) const = default;
};

// Returns the product of the sides. Throws a bad_argument Error, which mentions `name`, if a side is negative
// or the product exceeds kMostElements. The limit exceeds any device's memory and keeps byte counts below
// 2^63.
inline constexpr int64_t kMostElements = int64_t{1} << 48;
int64_t checked_product(const std::string& name, std::initializer_list<int64_t> sides);
int64_t checked_product(const std::string& name, std::span<const int64_t> sides);

// The maximum size of an arena of many tensors, in floats: 2^57 bytes, so that a few arenas add up to less
// than 2^63. check_arena() throws an out_of_resources Error, which mentions `name`, for a larger one.
inline constexpr int64_t kMostArena = int64_t{1} << 55;
void check_arena(const std::string& name, int64_t floats);

// Throws a bad_argument Error.
[[noreturn]] void throw_wrong_type(DType is, DType wanted);

// "28 x 28 x 1", or "128" for a vector.
std::string text(const Shape& shape);

// The position of element `index` of sample number `sample`: "[image 3, row 2, column 1, channel 0]", or
// "[sample 3, element 7]" of a vector.
std::string position_in_sample(const Shape& shape, int64_t sample, int64_t index);

// `batch` samples in device memory, contiguous. The type of the elements is known at run time: float32, or
// bfloat16 where the graph says so. A view of elements of another type throws a bad_argument Error.
// Void: void or const void.
template <class Void>
struct BasicTensor {
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Void>, const T, T>;

  Void* data = nullptr;
  int64_t batch = 0;
  Shape shape;
  DType type = DType::float32;

  int64_t size() const { return batch * shape.size(); }
  int64_t bytes() const { return size() * size_of(type); }
  template <class T = float>
  Element<T>* as() const {
    if (type != dtype_of<T>) throw_wrong_type(type, dtype_of<T>);
    return static_cast<Element<T>*>(data);
  }
  template <class T = float>
  VectorView<Element<T>> elements() const {
    return {as<T>(), size()};
  }
  template <class T = float>
  ImageView<Element<T>> image() const {
    return {as<T>(), batch, shape.height, shape.width, shape.channels};
  }
  // One row per sample.
  template <class T = float>
  MatrixView<Element<T>> samples() const {
    return matrix(as<T>(), batch, shape.size());
  }
  // One row per sample and position, one column per channel.
  template <class T = float>
  MatrixView<Element<T>> pixels() const {
    return matrix(as<T>(), batch * shape.height * shape.width, shape.channels);
  }

  operator BasicTensor<const Void>() const requires(!std::is_const_v<Void>) {
    return {data, batch, shape, type};
  }
};

using Tensor = BasicTensor<void>;
using ConstTensor = BasicTensor<const void>;

// Calls work(T{}) with the element type T of a tensor: float or __nv_bfloat16.
template <class Work>
Status with_element_type(DType type, Work work) {
  if (type == DType::float32) return work(float{});
  if (type == DType::bfloat16) return work(__nv_bfloat16{});
  return bad_argument("graph: there are no operations on ", name_of(type), ", must be float32 or bfloat16");
}

}  // namespace rondo::nn
