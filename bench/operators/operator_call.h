// OperatorCall: one call of an operator, ready to be run on any set of its operands. `rondo bench` times it,
// and `rondo profile` counts its memory accesses.
#pragma once

#include <rondo/bench/operators/operands.h>
#include <rondo/bench/timing/bound.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::bench {

struct OperatorCall {
  std::string name;  // "gemm 1024 x 1024 x 1024, bfloat16"
  std::string pass;  // "forward"; empty: the operator has only one
  Work work = {};
  Arithmetic arithmetic = Arithmetic::fp32;  // of its products
  std::string plan = {};                     // the kernel that is chosen; empty: there is no choice
  OperandList operands = {};
  std::function<Status(const Operands&, cudaStream_t)> enqueue = {};
  // Makes operands that depend on others; null: there are none.
  std::function<Status(const Operands&, cudaStream_t)> prepare = {};
  // Compares some of the results with the definition, in double precision.
  std::function<bool(const HostOperands&)> is_right = {};
};

// `count` sets of the operands, with their first values. Throws rondo::Error.
OperandSets make_operands(const OperatorCall& call, int64_t count);

// Runs the call on the first set, and checks the result. Throws rondo::Error if the call fails.
bool runs_right(const OperatorCall& call, const OperandSets& sets);

// ---- For checks ----

// An element of a type of values, exactly.
template <class T>
double value_at(const T* values, int64_t i) {
  return static_cast<double>(static_cast<float>(values[i]));
}

// Whether a result of type T is `expected`, up to the rounding of sums of this magnitude. NaN is not.
template <class T>
bool is_close(T found, double expected, double magnitude) {
  constexpr double kRounding = sizeof(T) == 2 ? 0x1p-7 : 2e-5;
  return std::abs(value_at(&found, 0) - expected) <= kRounding * magnitude;
}

// Calls check(index) for at most about `most` of `size` indices, spread over all of them, with the first and
// the last, until it returns false. Returns whether all were right.
template <class Check>
bool check_some(int64_t size, const Check& check, int64_t most = 251) {
  for (int64_t i = 0; i < size; i += 1 + size / most)
    if (!check(i)) return false;
  return size == 0 || check(size - 1);
}

}  // namespace rondo::bench
