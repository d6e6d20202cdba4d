// Options of `rondo profile`.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/math_mode.h>
#include <rondo/tools/rondo/support/command.h>
#include <rondo/tools/rondo/support/precision.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::program {

enum class ProfiledWork { gemm, conv, pool, batch_norm, cross_entropy, all_reduce, train };

// Sizes of all kinds of work; each kind uses some of them.
struct ProfileArguments {
  ProfiledWork work = ProfiledWork::gemm;
  int64_t m = 1024, n = 1024, k = 1024;
  bool transpose_a = false, transpose_b = false;
  std::string variant = "gemm";  // of gemm: the id of a rung, or all
  Math math = Math::fp32;        // of gemm and conv
  DType type = DType::float32;   // of the operands, except in train
  bool plan = false;             // of gemm: show what gemm() chooses, and run nothing
  int64_t images = 32, height = 28, width = 28, channels = 64, filters = 64, filter_size = 3, stride = 1,
          pad = 1;
  std::string pass = "all";  // of conv: forward, data_gradient, filter_gradient or all
  // Of conv: automatic, direct or winograd, as in conv2d.h; few_channels or implicit_gemm, the two kernels of
  // direct; all: each that can compute this convolution.
  std::string algorithm = "automatic";
  std::string pool = "avg";
  int64_t window = 2;
  std::optional<int64_t> pool_stride;  // not given: the window
  int64_t pool_pad = 0, dilation = 1;
  bool indices = false;
  int64_t rows = 25088, classes = 10;
  int devices = 2;
  int64_t bytes = int64_t{1} << 20;
  Algorithm all_reduce = Algorithm::ring;
  std::string model;  // of train
  int64_t batch = 256;
  std::optional<int64_t> layers;          // of train mlp; not given: 90
  Precision precision = Precision::fp32;  // of train

  std::string gpu = "h100";       // or, with `plan`, all
  std::optional<int64_t> blocks;  // observed per launch; 0: all; not given: all, or a few of a training step
  bool lines = false;
  std::string draw;  // FILE:LINE; empty: not requested
  bool warm = false;
  std::string compiled;             // path of a budget; empty: the one in the source tree
  std::string json, svg, draw_svg;  // empty: not requested
};

// The command has a command of its own for each kind of work.
void add_profile(Program& program);

}  // namespace rondo::program
