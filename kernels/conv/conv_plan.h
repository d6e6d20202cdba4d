// The choice of the kernel of a convolution or of a gradient: pure functions of the convolution and of the
// device. The result can be printed, and tested for every GPU without one.
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma_conv.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/gemm/gemm_config.h>

#include <cstdint>
#include <optional>
#include <ostream>

namespace rondo {

// The folders direct/, winograd/ and implicit_gemm/.
enum class ConvMethod { few_channels, winograd, implicit_gemm };

struct ConvProblem {
  ConvOperation operation = ConvOperation::forward;
  ConvGeometry geometry = {};
  DType type = DType::float32;  // of images and filters
  Math math = Math::fp32;
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
  const void* a = nullptr;  // the operands in argument order; only their alignment is used
  const void* b = nullptr;
};

// A function of the shape, the type and the options, so that the workspace is, too. An operation without
// results is an implicit GEMM.
ConvMethod choose_conv_method(const ConvProblem& problem);

// The number of parts of the sum. It does not depend on the device either.
int64_t conv_parts(const ConvProblem& problem);

struct ConvPlan {
  ConvMethod method = ConvMethod::implicit_gemm;
  int64_t splits = 1;                     // parts of the sum
  winograd::TileKind winograd_tile = {};  // of winograd
  // Of implicit_gemm:
  Math math = Math::fp32;  // of floats by wgmma
  TileId tile = {};  // by multiply-adds or mma.sync; not used with a tile of wgmma
  std::optional<WgmmaConvTile> wgmma_tile = {};
  WgmmaConvPixels pixels = {};     // of wgmma
  bool transposed_filter = false;  // wgmma reads a copy of the filter (transpose_filter())
};
// "implicit GEMM by wgmma: tile 128x256, boxes, 1 part"
std::ostream& operator<<(std::ostream& out, const ConvPlan& plan);

ConvPlan choose_conv_plan(const ConvProblem& problem, const DeviceProperties& device);
// The same, always an implicit GEMM. wgmma is for 16-bit types, and for y and dx in tf32 and tf32x3, where
// choose_wgmma_conv_tile() estimates the shortest time for it.
ConvPlan choose_implicit_gemm_plan(const ConvProblem& problem, const DeviceProperties& device);

}  // namespace rondo
