// Op: one operation of a network, forward and backward, on one device.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>
#include <rondo/nn/graph/tensor.h>

#include <cuda_runtime_api.h>

#include <span>
#include <string>

namespace rondo::nn {

// Arguments of one call of an operation. All pointers belong to one replica, whose device is current.
struct OpContext {
  int64_t batch = 0;         // samples of this replica
  int64_t first = 0;         // samples of the whole batch on lower ranks
  int64_t summed_batch = 0;  // samples in `sums`: of this replica, or of all replicas
  bool training = false;
  // forward: run again for backward. States and sums already hold this batch's values.
  bool recompute = false;
  uint64_t seed = 0;              // of the random numbers in training
  const int64_t* step = nullptr;  // step counter, in device memory
  std::span<const ConstTensor> inputs;
  Tensor output;                            // forward: to write; backward: what forward wrote
  Tensor output_gradient;                   // backward: to read; may be overwritten after that
  std::span<const Tensor> input_gradients;  // backward: to write; null data if not needed
  std::span<float* const> parameters;       // in the order in which they were declared
  // The parameters as bfloat16, if activations are; otherwise empty. For products.
  std::span<const __nv_bfloat16* const> rounded_parameters;
  std::span<float* const> parameter_gradients;  // backward: to write; sums over this replica's samples
  std::span<float* const> states;               // running statistics: kept between steps, not trained
  std::span<double* const> sums;                // shared between replicas (Op::shared_sums())
  double* output_sums = nullptr;                // forward: to write, if not null (Op::fuse_sums())
  float* saved = nullptr;                       // forward: to write; backward: to read (Op::saved_floats())
  Workspace workspace;
  cudaStream_t stream = nullptr;

  // A parameter in the type T of the activations that it is multiplied with.
  template <class T>
  const T* weight(size_t i) const {
    if constexpr (std::is_same_v<T, float>)
      return parameters[i];
    else
      return rounded_parameters[i];
  }
};

// Vector number i of a layer's parameters or of their gradients, of `size` values; an empty view if the layer
// has none, such as a normalisation that is not affine.
inline VectorView<float> optional_vector(std::span<float* const> tensors, size_t i, int64_t size) {
  if (tensors.empty()) return {};
  return {tensors[i], size};
}

// The tensors of forward that backward reads. Memory of the others may be reused before backward.
struct Saves {
  bool inputs = false;
  bool output = false;
};

// An operation is built once and used for all replicas and steps, so it must not store data of a call.
class Op {
 public:
  virtual ~Op() = default;

  // Text for the network's table: "conv 64 @ 3x3, stride 2".
  virtual std::string description() const = 0;
  // Multiplications and additions in forward, per sample.
  virtual double flops() const { return 0; }
  virtual Saves saves() const { return {}; }
  // Number of floats per sample that forward() leaves for backward() in OpContext::saved, besides its inputs
  // and its output: the statistics of rows, for example.
  virtual int64_t saved_floats() const { return 0; }
  // The larger of the workspaces of forward and backward for `batch` samples.
  virtual int64_t workspace_bytes(int64_t batch) const {
    static_cast<void>(batch);
    return 0;
  }

  // At least workspace_bytes() of every batch from 0 to this one. The default is for an op whose
  // workspace_bytes() does not fall where the batch grows.
  virtual int64_t workspace_bound(int64_t batch) const { return workspace_bytes(batch); }

  // Number of doubles that forward_sums() writes to OpContext::sums[0] before forward(), and backward_sums()
  // to sums[1] before backward(). With sync batch norm they are added over all replicas in between.
  virtual int64_t shared_sums() const { return 0; }
  virtual Status forward_sums(const OpContext&) const { return {}; }
  virtual Status backward_sums(const OpContext&) const { return {}; }

  virtual Status forward(const OpContext& context) const = 0;
  virtual Status backward(const OpContext& context) const = 0;

  // Fuses a following ReLU into the operation. Must be called before its output is used. Returns false if
  // unsupported.
  virtual bool fuse_relu() { return false; }

  // Makes forward compute the sums that batch_norm_sums() computes of its output, too, when a pass asks for
  // them by OpContext::output_sums. Returns false if unsupported.
  virtual bool fuse_sums() { return false; }
};

}  // namespace rondo::nn
