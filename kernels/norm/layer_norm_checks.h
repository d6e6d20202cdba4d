// Argument checks of layer_norm() and rms_norm().
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/moments.h>

namespace rondo::norm {

// ArgumentCheck for matrices of one shape, and vectors with a value for each of its rows or columns.
template <class T>
class LayerNormCheck : public ArgumentCheck {
 public:
  // `like`, which messages name, gives the shape.
  LayerNormCheck(const char* operation, const char* name, const MatrixView<T>& like)
      : ArgumentCheck(operation), name_(name), like_(like) {
    require(like.cols <= kMostMomentColumns, name, ".cols is ", like.cols, ", must be at most ",
            kMostMomentColumns);
    require(like.rows <= 0 || like.cols != 0, name, ".cols is 0, must be at least 1");
  }

  void input_matrix(const char* name, const MatrixView<const T>& view) {
    input(name, view);
    same_shape(name, view, name_, like_);
  }
  void of_rows(const char* name, const VectorView<const float>& view) {
    input(name, view);
    check_size(name, view.size, "rows", like_.rows);
  }
  void optional_of_rows(const char* name, const VectorView<float>& view) {
    optional_output(name, view);
    if (view.data) check_size(name, view.size, "rows", like_.rows);
  }
  void optional_of_columns(const char* name, const VectorView<const float>& view) {
    optional_input(name, view);
    if (view.data) check_size(name, view.size, "cols", like_.cols);
  }
  void optional_of_columns(const char* name, const VectorView<float>& view) {
    optional_output(name, view);
    if (view.data) check_size(name, view.size, "cols", like_.cols);
  }
  void eps(float eps) {
    require(eps >= 0 && eps < 1, "eps is ", eps, ", must be at least 0 and below 1");  // false for NaN
  }

 private:
  void check_size(const char* name, int64_t size, const char* side, int64_t wanted) {
    require(size == wanted, name, ".size is ", size, ", must be ", name_, ".", side, " = ", wanted);
  }

  const char* name_;
  const MatrixView<T> like_;
};

}  // namespace rondo::norm
