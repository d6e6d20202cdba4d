// A convolution with cuDNN, in its fastest layout and with its fastest algorithm.
#pragma once

#include <rondo/bench/cudnn/cudnn_functions.h>
#include <rondo/bench/operators/conv_sample.h>
#include <rondo/kernels/runtime/buffer.h>

#include <memory>
#include <string>

namespace rondo::bench {

// The arithmetic, and the type of the tensors: float, or 16 bits with sums in fp32.
enum class ConvMath { fp32, tf32, bf16, fp16 };

class CudnnConv {
 public:
  // Times cuDNN's algorithms for both layouts in its own scratch memory, and keeps the fastest.
  CudnnConv(const CudnnFunctions& functions, const ConvLayer& layer, ConvOp op, ConvMath math);
  ~CudnnConv();
  CudnnConv(const CudnnConv&) = delete;
  CudnnConv& operator=(const CudnnConv&) = delete;

  Channels channels() const;
  std::string label() const;  // "NCHW, algorithm 1"
  // The filter's gradient has the type of the other tensors.
  [[nodiscard]] Status run(void* x, void* y, void* filter, cudaStream_t stream);

 private:
  struct Choice;

  std::unique_ptr<Choice> choose(const ConvLayer& layer, ConvMath math, Channels channels);

  CudnnFunctions cudnn_;
  ConvOp op_;
  CudnnObject handle_;
  std::unique_ptr<Choice> best_;
  Buffer<unsigned char> workspace_;
};

}  // namespace rondo::bench
