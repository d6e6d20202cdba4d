// The kernel that gemm() chooses for a product on a GPU. Nothing runs: the choice is a pure function of the
// product and of the GPU (gemm_plan.h), so every build can print it.
#pragma once

#include <rondo/bench/operators/gemm.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/tools/rondo/profile/arguments.h>
#include <simt/gpus.h>

#include <optional>
#include <ostream>
#include <string>

namespace rondo::program {

// Of contiguous, aligned matrices with the sizes and the arithmetic of the arguments. None if the GPU does
// not have the arithmetic.
std::optional<GemmPlan> gemm_plan(const ProfileArguments& arguments, const simt::GpuProperties& gpu);

// The product of the arguments, for bench/operators.
bench::OperatorRequest gemm_request(const ProfileArguments& arguments);

// "tc_08_clusters, persistent: tile 2 of 128x256, 1 part of k = 4096", or which compute capability is needed.
std::string gemm_plan_text(const ProfileArguments& arguments, const simt::GpuProperties& gpu);

// For arguments.gpu, or for each GPU if it is "all". Throws a bad_argument Error, as `rondo profile gemm`
// does.
void show_gemm_plans(const ProfileArguments& arguments, std::ostream& out);

// The GPU named by --gpu. Throws a bad_argument Error.
const simt::GpuProperties& gpu_of(const ProfileArguments& arguments);

// Throws a bad_argument Error if the type is not float32 and the math is not fp32.
void check_math_of_type(const ProfileArguments& arguments);

}  // namespace rondo::program
