// Shape and Tensor: the data that operations of a network read and write.
#pragma once

#include <rondo/kernels/core/view.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

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

// "28 x 28 x 1", or "128" for a vector.
std::string text(const Shape& shape);

// `batch` samples in device memory, contiguous.
template <class T>
struct BasicTensor {
  T* data = nullptr;
  int64_t batch = 0;
  Shape shape;

  int64_t size() const { return batch * shape.size(); }
  VectorView<T> elements() const { return {data, size()}; }
  ImageView<T> image() const { return {data, batch, shape.height, shape.width, shape.channels}; }
  // One row per sample.
  MatrixView<T> samples() const { return matrix(data, batch, shape.size()); }
  // One row per sample and position, one column per channel.
  MatrixView<T> pixels() const { return matrix(data, batch * shape.height * shape.width, shape.channels); }

  operator BasicTensor<const T>() const requires(!std::is_const_v<T>) { return {data, batch, shape}; }
};

using Tensor = BasicTensor<float>;
using ConstTensor = BasicTensor<const float>;

}  // namespace rondo::nn
