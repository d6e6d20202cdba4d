// Rondo's calls of bench/operators, computed by cuDNN on the same operands.
#pragma once

#include <rondo/bench/cudnn/cudnn_functions.h>
#include <rondo/bench/operators/operators.h>

#include <string>

namespace rondo::bench {

// The call of an operator by cuDNN, with its check:
//
// - conv: all three passes. cuDNN's fastest layout and algorithm: the operands are read as NCHW where that is
//   faster. In 16-bit types cuDNN's filter gradient has 16 bits, and Rondo's is float.
// - pool: avg and max, without dilation. Which of equal maxima receives a gradient is open.
// - softmax, log_softmax.
// - norm batch: with the saved mean and standard deviation, and in the backward pass the gradients of gamma
//   and beta, which Rondo has as sums. A row is an image of one pixel, and a channel is normalised by itself
//   (CUDNN_BATCHNORM_PER_ACTIVATION), as PyTorch calls cuDNN for a matrix.
//
// Throws a bad_argument Error for other operators, and for what cuDNN does not have.
OperatorCall cudnn_call(const CudnnFunctions& functions, const std::string& operation,
                        const OperatorRequest& request);

}  // namespace rondo::bench
