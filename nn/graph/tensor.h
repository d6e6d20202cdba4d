// Shape and Tensor: what flows between the operations of a network.
#pragma once

#include <rondo/kernels/core/view.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace rondo::nn {

// One sample: an image in NHWC order, or with height = width = 1 a vector. The batch is not part of it.
struct Shape {
  int64_t height = 1;
  int64_t width = 1;
  int64_t channels = 1;

  int64_t size() const { return height * width * channels; }
  bool operator==(const Shape&) const = default;
};

// The product of the sides of what `name` names. Throws a bad_argument Error for a negative side, and for a
// product beyond any device's memory: up to there no size of a tensor overflows.
inline constexpr int64_t kMostElements = int64_t{1} << 48;
int64_t checked_product(const std::string& name, std::initializer_list<int64_t> sides);
int64_t checked_product(const std::string& name, std::span<const int64_t> sides);

// "28 x 28 x 1", or "128" of a vector.
std::string text(const Shape& shape);

// `batch` samples, packed, in device memory.
template <class T>
struct BasicTensor {
  T* data = nullptr;
  int64_t batch = 0;
  Shape shape;

  int64_t size() const { return batch * shape.size(); }
  VectorView<T> elements() const { return {data, size()}; }
  ImageView<T> image() const { return {data, batch, shape.height, shape.width, shape.channels}; }
  // A row a sample.
  MatrixView<T> samples() const { return matrix(data, batch, shape.size()); }
  // A row for each sample and position, a column for each channel.
  MatrixView<T> pixels() const { return matrix(data, batch * shape.height * shape.width, shape.channels); }

  operator BasicTensor<const T>() const requires(!std::is_const_v<T>) { return {data, batch, shape}; }
};

using Tensor = BasicTensor<float>;
using ConstTensor = BasicTensor<const float>;

}  // namespace rondo::nn
