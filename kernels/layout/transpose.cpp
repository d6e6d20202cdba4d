#include <rondo/kernels/core/check.h>
#include <rondo/kernels/layout/transpose.h>
#include <rondo/kernels/layout/transposed_copy.h>

namespace rondo {
namespace {

template <class T>
MatrixBatchView<T> packed(T* data, int64_t batches, int64_t rows, int64_t cols) {
  return {data, batches, rows, cols};
}

// A filter is an image with as many channels as it has inputs.
template <class T>
ImageView<T> as_images(FilterView<T> filters) {
  return {filters.data, filters.out_channels, filters.height, filters.width, filters.in_channels};
}

template <class Y, class X>
Status check_conversion(const char* name, const Y& y, int64_t y_size, const X& x, int64_t x_size) {
  ArgumentCheck check(name);
  check.output("y", y);
  check.input("x", x);
  check.require(x_size == y_size, "x has ", x_size, " elements, must have those of y, ", y_size);
  return check.status();
}

// From packed planes, one for each channel, to pixels.
template <class T>
Status to_pixels(const char* name, ImageView<T> y, VectorView<const T> x, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_conversion(name, y, y.size(), x, x.size));
  const int64_t pixels = saturating_product({y.height, y.width});
  return copy_transposed<T>(name, packed(y.data, y.images, pixels, y.channels),
                            packed(x.data, y.images, y.channels, pixels), stream);
}
template <class T>
Status to_planes(const char* name, VectorView<T> y, ImageView<const T> x, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_conversion(name, y, y.size, x, x.size()));
  const int64_t pixels = saturating_product({x.height, x.width});
  return copy_transposed<T>(name, packed(y.data, x.images, x.channels, pixels),
                            packed(x.data, x.images, pixels, x.channels), stream);
}

}  // namespace

template <ValueType T>
Status transpose(MatrixBatchView<T> y, NonDeduced<MatrixBatchView<const T>> x, cudaStream_t stream) {
  ArgumentCheck check("transpose");
  check.output("y", y);
  check.input("x", x);
  check.same_shape("y", y, "the transposed x", packed(x.data, x.batches, x.cols, x.rows));
  RONDO_RETURN_IF_ERROR(check.status());
  return copy_transposed<T>("transpose", y, x, stream);
}

template <ValueType T>
Status nchw_to_nhwc(ImageView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return to_pixels<T>("nchw_to_nhwc", y, x, stream);
}

template <ValueType T>
Status nhwc_to_nchw(VectorView<T> y, NonDeduced<ImageView<const T>> x, cudaStream_t stream) {
  return to_planes<T>("nhwc_to_nchw", y, x, stream);
}

template <ValueType T>
Status oihw_to_krsc(FilterView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream) {
  return to_pixels<T>("oihw_to_krsc", as_images(y), x, stream);
}

template <ValueType T>
Status krsc_to_oihw(VectorView<T> y, NonDeduced<FilterView<const T>> x, cudaStream_t stream) {
  return to_planes<T>("krsc_to_oihw", y, as_images(x), stream);
}

#define RONDO_LAYOUT(T)                                                                     \
  template Status transpose<T>(MatrixBatchView<T>, MatrixBatchView<const T>, cudaStream_t); \
  template Status nchw_to_nhwc<T>(ImageView<T>, VectorView<const T>, cudaStream_t);         \
  template Status nhwc_to_nchw<T>(VectorView<T>, ImageView<const T>, cudaStream_t);         \
  template Status oihw_to_krsc<T>(FilterView<T>, VectorView<const T>, cudaStream_t);        \
  template Status krsc_to_oihw<T>(VectorView<T>, FilterView<const T>, cudaStream_t);
RONDO_LAYOUT(float)
RONDO_LAYOUT(__nv_bfloat16)
RONDO_LAYOUT(__half)

}  // namespace rondo
