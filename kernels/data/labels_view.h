// LabelsView: the labels of a data set in device memory.
#pragma once

#include <rondo/kernels/core/view.h>

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace rondo {

template <class T>
concept LabelElement = std::same_as<const T, const uint8_t> || std::same_as<const T, const int32_t>;

// [samples] uint8 or int32. Of any VectorView of them, or of a pointer and a size. One type for both, so that
// a kernel, which reads one label for each sample, is compiled once.
struct LabelsView {
  const void* data = nullptr;
  int64_t size = 0;
  bool of_bytes = true;

  LabelsView() = default;
  template <LabelElement T>
  LabelsView(const T* labels, int64_t count)
      : data(labels), size(count), of_bytes(std::is_same_v<const T, const uint8_t>) {}
  template <LabelElement T>
  LabelsView(const VectorView<T>& view) : LabelsView(view.data, view.size) {}

  __host__ __device__ int32_t operator[](int64_t i) const {
    return of_bytes ? int32_t{static_cast<const uint8_t*>(data)[i]} : static_cast<const int32_t*>(data)[i];
  }
};

}  // namespace rondo
