// The calls of gemm() and of the rungs of its ladders.
#pragma once

#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rungs.h>

namespace rondo::bench {

// The rung of the ladder that is the kernel of the plan, such as tc_04_pipelined.
const char* rung_of(const GemmPlan& plan);

// A product of packed, aligned matrices in this arithmetic.
GemmProblem packed_problem(const GemmShape& shape, Arithmetic arithmetic, bool transpose_a, bool transpose_b);

// "gemm 512 x 512 x 512, A transposed, tf32"
std::string gemm_text(const OperatorRequest& request);

// The same product by another kernel, such as a rung. Its workspace is enough for every rung. T is the type
// of the request.
template <class T>
OperatorCall gemm_call(const OperatorRequest& request, TensorRung::Run<T> run);

}  // namespace rondo::bench
