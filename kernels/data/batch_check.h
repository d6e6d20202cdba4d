// The checks of the operands that gather_batch() and gather_augmented_batch() have in common.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/data/batch_position.h>
#include <rondo/kernels/data/labels_view.h>

namespace rondo {

template <class T, class S>
void check_batch(ArgumentCheck& check, const ImageView<T>& x, const VectorView<int32_t>& labels,
                 const ImageView<const S>& images, const LabelsView& image_labels,
                 const VectorView<const int32_t>& order, const BatchPosition& position) {
  check.output("x", x);
  check.output("labels", labels);
  check.input("images", images);
  if (image_labels.of_bytes)
    check.input("image_labels",
                VectorView<const uint8_t>{static_cast<const uint8_t*>(image_labels.data), image_labels.size});
  else
    check.input("image_labels",
                VectorView<const int32_t>{static_cast<const int32_t*>(image_labels.data), image_labels.size});
  check.optional_input("order", order);
  check.input_value("position.step", position.step);
  check.require(x.height == images.height && x.width == images.width && x.channels == images.channels,
                "a sample of x is ", x.height, " x ", x.width, " x ", x.channels, ", must be ", images.height,
                " x ", images.width, " x ", images.channels, " like one of images");
  check.require(labels.size == x.images, "labels.size is ", labels.size, ", must be x.images = ", x.images);
  check.require(image_labels.size == images.images, "image_labels.size is ", image_labels.size,
                ", must be images.images = ", images.images);
  check.require(
      position.first >= 0 && position.batch >= x.images && position.first <= position.batch - x.images,
      "the shard is ", counted(x.images, "sample"), " from ", position.first,
      " on, must lie inside the batch of ", position.batch);
}

}  // namespace rondo
