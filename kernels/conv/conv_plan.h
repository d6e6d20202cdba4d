// The choice of the kernel of a convolution or of a gradient: pure functions of the convolution and of the
// device. The result can be printed, and tested for every GPU without one.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/winograd/winograd.h>

#include <cstdint>
#include <ostream>

namespace rondo {

// The folders direct/, winograd/ and implicit_gemm/.
enum class ConvMethod { few_channels, grouped, image_vectors, winograd, implicit_gemm };

struct ConvProblem {
  ConvOperation operation = ConvOperation::forward;
  ConvGeometry geometry = {};
  Arithmetic arithmetic = Arithmetic::fp32;
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
  const void* a = nullptr;  // the operands in argument order; only their alignment is used
  const void* b = nullptr;
};

// A function of the shape, the type and the options, so that the workspace is, too. An operation without
// results is an implicit GEMM. It never is image_vectors: that is the choice of choose_conv_plan() on devices
// with vector registers instead of few_channels or an implicit GEMM, with the same bits and no workspace.
ConvMethod choose_conv_method(const ConvProblem& problem);

// The number of parts of the sum. It does not depend on the device either.
int64_t conv_parts(const ConvProblem& problem);

struct ConvPlan {
  ConvMethod method = ConvMethod::implicit_gemm;
  int64_t splits = 1;                     // parts of the sum
  winograd::TileKind winograd_tile = {};  // of winograd
  ImplicitGemmPlan gemm = {};             // of implicit_gemm
};
// "implicit GEMM by wgmma: tile 128x256, boxes, 1 part"
std::ostream& operator<<(std::ostream& out, const ConvPlan& plan);

ConvPlan choose_conv_plan(const ConvProblem& problem, const DeviceProperties& device);

// The workspace of a plan: the transformed filter of Winograd's algorithm, or the partial sums and the
// transposed copy of the filter. Without the sums of an epilogue (conv_sums_workspace_bytes()).
int64_t workspace_bytes(const ConvProblem& problem, const ConvPlan& plan);
// That of the plans on all devices.
int64_t workspace_bytes(const ConvProblem& problem);

// Whether the filter gradient's kernels of a method compute the bias gradient, too: those whose threads have
// the values of dy in registers.
constexpr bool has_bias_gradient(ConvMethod method) {
  return method == ConvMethod::few_channels || method == ConvMethod::grouped;
}
// The workspace of a filter gradient with a bias gradient.
int64_t bias_workspace_bytes(const ConvProblem& problem, const ConvPlan& plan);
int64_t bias_workspace_bytes(const ConvProblem& problem);

// The workspace of a forward convolution's sums, beside that of the convolution: the two use it one after the
// other, where both do.
int64_t conv_sums_workspace_bytes(const ConvGeometry& geometry, Arithmetic arithmetic);

}  // namespace rondo
