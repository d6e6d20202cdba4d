// Argument checks of batch normalisation.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/reduce/moments.h>

namespace rondo::norm {

// ArgumentCheck for packed [rows, channels] matrices, and for vectors with one or more values per channel.
// The operand `like`, which messages name, gives both sizes.
class BatchNormCheck : public ArgumentCheck {
 public:
  BatchNormCheck(const char* operation, int64_t rows, int64_t channels, const char* like)
      : ArgumentCheck(operation), rows_(rows), channels_(channels), like_(like) {
    require(channels <= kMostMomentColumns, "there are ", channels, " channels, must be at most ",
            kMostMomentColumns);
  }

  template <class T>
  void input_matrix(const char* name, const MatrixView<const T>& view) {
    input(name, view);
    check_shape(name, view);
  }
  template <class T>
  void optional_input_matrix(const char* name, const MatrixView<const T>& view) {
    optional_input(name, view);
    if (view.data) check_shape(name, view);
  }
  template <class T>
  void output_matrix(const char* name, const MatrixView<T>& view, Names may_be) {
    output(name, view, may_be);
    check_shape(name, view);
  }
  template <class T>
  void optional_output_matrix(const char* name, const MatrixView<T>& view, Names may_be) {
    optional_output(name, view, may_be);
    if (view.data) check_shape(name, view);
  }

  template <class T>
  void input_channels(const char* name, const VectorView<const T>& view, int64_t values = 1) {
    input(name, view);
    check_shape(name, view, values);
  }
  template <class T>
  void optional_input_channels(const char* name, const VectorView<const T>& view) {
    optional_input(name, view);
    if (view.data) check_shape(name, view, 1);
  }
  template <class T>
  void output_channels(const char* name, const VectorView<T>& view, int64_t values = 1) {
    output(name, view);
    check_shape(name, view, values);
  }
  template <class T>
  void optional_output_channels(const char* name, const VectorView<T>& view) {
    optional_output(name, view);
    if (view.data) check_shape(name, view, 1);
  }

  void count(int64_t count) { require(count >= 1, "count is ", count, ", must be at least 1"); }
  void eps(float eps) {
    require(eps >= 0 && eps < 1, "eps is ", eps, ", must be at least 0 and below 1");  // false for NaN
  }

 private:
  template <class T>
  void check_shape(const char* name, const MatrixView<T>& view) {
    require(view.rows == rows_ && view.cols == channels_, name, " is ", view.rows, " x ", view.cols,
            ", must be ", rows_, " x ", channels_, " like ", like_);
    const MatrixView<const float> shape = {nullptr, view.rows, view.cols, view.stride};
    packed(name, shape);
  }
  template <class T>
  void check_shape(const char* name, const VectorView<T>& view, int64_t values) {
    if (ok())
      require(view.size == values * channels_, name, ".size is ", view.size, ", must be ", values * channels_,
              values == 1 ? ", a value" : concat(", ", values, " values"), " for each of the ",
              counted(channels_, "channel"), " of ", like_);
  }

  int64_t rows_, channels_;
  const char* like_;
};

}  // namespace rondo::norm
