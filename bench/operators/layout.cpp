#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/layout/transpose.h>

namespace rondo::bench {
namespace {

// y of each batch is the transpose of x, which is rows x cols. NCHW images are batches of [c, h w].
struct Batches {
  int64_t count, rows, cols;
};

template <class T, class Run>
OperatorCall transposed(const Batches& b, const Run& run) {
  const int64_t size = saturating_product({b.count, b.rows, b.cols});
  OperatorCall call;
  const auto x = call.operands.input<T>(size);
  const auto y = call.operands.result<T>(size);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) { return run(o[y], o[x], size, stream); };
  call.is_right = [=](const HostOperands& host) {
    return check_some(
        size,
        [&](int64_t i) {
          const int64_t batch = i / (b.rows * b.cols), row = i / b.cols % b.rows, col = i % b.cols;
          const int64_t to = (batch * b.cols + col) * b.rows + row;
          return static_cast<float>(host.after(y)[to]) == static_cast<float>(host.after(x)[i]);
        },
        10007);
  };
  return call;
}

OperatorCall make_transpose(const OperatorRequest& request) {
  const Batches b = {request.shape["batch"], request.shape["rows"], request.shape["cols"]};
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return transposed<T>(b, [b](T* y, const T* x, int64_t, cudaStream_t stream) {
      return transpose(MatrixBatchView<T>{y, b.count, b.cols, b.rows},
                       MatrixBatchView<const T>{x, b.count, b.rows, b.cols}, stream);
    });
  });
  call.name =
      concat("transpose of ", b.count == 1 ? "" : concat(counted(b.count, "matrix", "matrices"), " of "),
             b.rows, " x ", b.cols, type_suffix(request.type));
  return call;
}

OperatorCall make_images(const OperatorRequest& request) {
  const Shape& s = request.shape;
  const int64_t n = s["n"], h = s["h"], w = s["w"], c = s["c"], pixels = saturating_product({h, w});
  const bool to_nhwc = request.kind == "nchw_to_nhwc";
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return transposed<T>(to_nhwc ? Batches{n, c, pixels} : Batches{n, pixels, c},
                         [=](T* y, T* x, int64_t size, cudaStream_t stream) {
                           return to_nhwc ? nchw_to_nhwc(ImageView<T>{y, n, h, w, c}, {x, size}, stream)
                                          : nhwc_to_nchw(VectorView<T>{y, size}, ImageView<T>{x, n, h, w, c},
                                                         stream);
                         });
  });
  call.name = concat(request.kind, " of ", counted(n, "image"), " of ", h, " x ", w, " x ", c,
                     type_suffix(request.type));
  return call;
}

}  // namespace

Operator layout_operator() {
  const std::vector<Dimension> images = {{"n", "images", 32},
                                         {"h", "height of an image", 56},
                                         {"w", "width of an image", 56},
                                         {"c", "channels", 64}};
  return {"layout",
          "Transposes of matrices and of images",
          {{"transpose",
            {{"rows", "rows", 4096}, {"cols", "columns", 4096}, {"batch", "matrices", 1}},
            {},
            make_transpose},
           {"nchw_to_nhwc", images, {}, make_images},
           {"nhwc_to_nchw", images, {}, make_images}}};
}

}  // namespace rondo::bench
