// What the stand-ins refuse, as the vendor's libraries do, and that the programs of bench/vendor have a row
// for everything that they are to time. The programs themselves run as tests of their own.

#include <gtest/gtest.h>

#include <cublas_v2.h>
#include <cudnn.h>

#include <rondo/bench/vendor/conv_layers.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>
#include <rondo/kernels/runtime/buffer.h>

#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace rondo::bench {
namespace {

// ---- cuBLAS ----

struct Gemm {
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  int m = 2, n = 1, k = 3, lda = 2, ldb = 3, ldc = 2;
  cudaDataType type = CUDA_R_32F, c_type = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  float alpha = 1, beta = 0;

  cublasStatus_t run(const Buffer<float>& a, const Buffer<float>& b, Buffer<float>& c) const {
    cublasHandle_t handle = nullptr;
    EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    const cublasStatus_t status =
        cublasGemmEx(handle, transa, transb, m, n, k, &alpha, a.data(), type, lda, b.data(), type, ldb, &beta,
                     c.data(), c_type, ldc, compute, CUBLAS_GEMM_DEFAULT);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
    return status;
  }
};

TEST(CublasStandIn, IsColumnMajor) {
  const Buffer<float> a(std::vector<float>{1, 2, 3, 4, 5, 6}), b(std::vector<float>{1, 10, 100});
  Buffer<float> c(std::vector<float>{1, 1});
  EXPECT_EQ(Gemm{}.run(a, b, c), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c.download(), (std::vector<float>{531, 642}));
  const Gemm transposed = {.transa = CUBLAS_OP_T, .lda = 3, .alpha = 2, .beta = -1};
  EXPECT_EQ(transposed.run(a, b, c), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c.download(), (std::vector<float>{2 * 321 - 531, 2 * 654 - 642}));
}

TEST(CublasStandIn, RefusesWhatCublasRefuses) {
  const Buffer<float> a(6), b(6);
  Buffer<float> c(2);
  const Gemm invalid[] = {{.lda = 1},        {.transa = CUBLAS_OP_T, .lda = 2},         {.ldb = 2},
                          {.ldc = 1},        {.transb = CUBLAS_OP_T, .n = 2, .ldb = 1}, {.m = -1},
                          {.k = 3, .ldb = 0}};
  for (const Gemm& gemm : invalid) EXPECT_EQ(gemm.run(a, b, c), CUBLAS_STATUS_INVALID_VALUE);
  const Gemm unsupported[] = {
      {.c_type = CUDA_R_16F},
      {.compute = CUBLAS_COMPUTE_16F},
      {.type = CUDA_R_16BF, .c_type = CUDA_R_16BF, .compute = CUBLAS_COMPUTE_32F_FAST_TF32}};
  for (const Gemm& gemm : unsupported) EXPECT_EQ(gemm.run(a, b, c), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSetStream(nullptr, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
}

// ---- cuDNN ----

// One image of 3 x 3 with 2 channels, and one filter of 2 x 2.
struct Convolution2d {
  cudnnTensorFormat_t x_format = CUDNN_TENSOR_NCHW, w_format = CUDNN_TENSOR_NCHW;
  cudnnDataType_t w_type = CUDNN_DATA_FLOAT, compute_type = CUDNN_DATA_FLOAT;
  int channels = 2, out = 2;
  int algorithm = 1;
  size_t workspace_bytes = 4096;

  cudnnStatus_t run(const Buffer<float>& x, const Buffer<float>& w, Buffer<float>& y) const {
    cudnnHandle_t handle = nullptr;
    cudnnTensorDescriptor_t x_desc = nullptr, y_desc = nullptr;
    cudnnFilterDescriptor_t w_desc = nullptr;
    cudnnConvolutionDescriptor_t convolution = nullptr;
    EXPECT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateTensorDescriptor(&x_desc), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateTensorDescriptor(&y_desc), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateFilterDescriptor(&w_desc), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnCreateConvolutionDescriptor(&convolution), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetTensor4dDescriptor(x_desc, x_format, CUDNN_DATA_FLOAT, 1, channels, 3, 3),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetFilter4dDescriptor(w_desc, w_type, w_format, 1, 2, 2, 2), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetTensor4dDescriptor(y_desc, x_format, CUDNN_DATA_FLOAT, 1, 1, out, out),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(
        cudnnSetConvolution2dDescriptor(convolution, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, compute_type),
        CUDNN_STATUS_SUCCESS);
    const float one = 1, zero = 0;
    Buffer<unsigned char> workspace(4096);
    const cudnnStatus_t status =
        cudnnConvolutionForward(handle, &one, x_desc, x.data(), w_desc, w.data(), convolution,
                                static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), workspace.data(),
                                workspace_bytes, &zero, y_desc, y.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cudnnDestroyConvolutionDescriptor(convolution);
    cudnnDestroyFilterDescriptor(w_desc);
    cudnnDestroyTensorDescriptor(y_desc);
    cudnnDestroyTensorDescriptor(x_desc);
    cudnnDestroy(handle);
    return status;
  }
};

TEST(CudnnStandIn, ReadsBothLayouts) {
  // Channel 0 is 1 .. 9, channel 1 zero except in the first pixel.
  const Buffer<float> first(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1000, 0, 0, 0, 0, 0, 0, 0, 0}),
      last(std::vector<float>{1, 1000, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0});
  // Channel 0 picks the pixel and ten times its lower right neighbour, channel 1 the pixel.
  const Buffer<float> w_first(std::vector<float>{1, 0, 0, 10, 1, 0, 0, 0}),
      w_last(std::vector<float>{1, 1, 0, 0, 0, 0, 10, 0});
  const std::vector<float> expected = {1051, 62, 84, 95};
  Buffer<float> y(4);
  EXPECT_EQ(Convolution2d{}.run(first, w_first, y), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(y.download(), expected);
  y.fill_bytes(0xff);
  EXPECT_EQ(
      (Convolution2d{.x_format = CUDNN_TENSOR_NHWC, .w_format = CUDNN_TENSOR_NHWC}.run(last, w_last, y)),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(y.download(), expected);
}

TEST(CudnnStandIn, RefusesWhatCudnnRefuses) {
  const Buffer<float> x(27), w(8);
  Buffer<float> y(9);
  const Convolution2d bad[] = {
      {.w_type = CUDNN_DATA_HALF}, {.channels = 3}, {.out = 3}, {.workspace_bytes = 4095}};
  for (const Convolution2d& convolution : bad) EXPECT_EQ(convolution.run(x, w, y), CUDNN_STATUS_BAD_PARAM);
  const Convolution2d unsupported[] = {
      {.w_format = CUDNN_TENSOR_NHWC}, {.compute_type = CUDNN_DATA_HALF}, {.algorithm = 3}};
  for (const Convolution2d& convolution : unsupported)
    EXPECT_EQ(convolution.run(x, w, y), CUDNN_STATUS_NOT_SUPPORTED);
}

// ---- The rows ----

// The names of a program's benchmarks on a GPU that has everything.
std::set<std::string> rows_of(const char* program, const char* filter) {
  const std::string command =
      concat("SIMT_GPU=h100 '", program, "' --benchmark_list_tests --benchmark_filter='", filter, "' 2>&1");
  std::FILE* const pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::set<std::string> rows;
  std::array<char, 512> line;
  while (std::fgets(line.data(), line.size(), pipe)) {
    const std::string text = line.data();
    const size_t end = text.find("/manual_time");
    if (end == std::string::npos) continue;
    EXPECT_TRUE(rows.insert(text.substr(0, end)).second) << "twice: " << text;
  }
  EXPECT_EQ(pclose(pipe), 0);
  return rows;
}

void expect_rows(const char* program, const char* filter, const std::set<std::string>& expected) {
  const std::set<std::string> rows = rows_of(program, filter);
  for (const std::string& row : expected) EXPECT_TRUE(rows.contains(row)) << "missing: " << row;
  for (const std::string& row : rows) EXPECT_TRUE(expected.contains(row)) << "not expected: " << row;
}

TEST(VendorRows, HaveEveryRungInEveryType) {
  std::set<std::string> expected;
  for (const std::string layout : {"nn", "nt", "tn"}) {
    const std::string tail = "/200x136x72/" + layout;
    for (const GemmVariant& rung : gemm_variants()) expected.insert(concat("rondo_fp32/", rung.id, tail));
    for (const char* type : {"fp32", "tf32", "bf16", "fp16"}) expected.insert(concat("cublas_", type, tail));
    for (const std::string type : {"tf32", "tf32x3", "bf16", "fp16"}) {
      expected.insert(concat("rondo_", type, "/gemm", tail));
      for (const TensorRung& rung : tensor_rungs()) {
        const bool is_narrow = type == "bf16" || type == "fp16";
        // wgmma multiplies factors of tf32 only along k. Of the rungs only 04 has tf32x3.
        if (rung.uses_wgmma && !is_narrow && layout != "nt") continue;
        if (type == "tf32x3" && rung.id != std::string("tc_04_pipelined")) continue;
        expected.insert(concat("rondo_", type, "/", rung.id, tail));
      }
    }
  }
  expect_rows(GEMM_PROGRAM, "/200x136x72/", expected);
}

TEST(VendorRows, HaveEveryConvolutionInEveryType) {
  std::set<std::string> expected;
  for (const ConvLayer& layer : kConvLayers)
    for (const std::string pass : {"forward", "data_gradient", "filter_gradient"})
      for (const char* of : {"rondo_fp32", "rondo_fp32_direct", "rondo_tf32x3", "rondo_tf32", "rondo_bf16",
                             "rondo_fp16", "cudnn_fp32", "cudnn_tf32", "cudnn_bf16", "cudnn_fp16"})
        if (pass != "data_gradient" || layer.c > 1)  // the networks need no gradient of their images
          expected.insert(concat(of, "/", layer.name, "/", pass));
  expect_rows(CONV_PROGRAM, ".", expected);
}

}  // namespace
}  // namespace rondo::bench
