// The operators that `rondo bench` times and that `rondo profile` runs: their kinds, passes and sizes, and
// the calls of them.
#pragma once

#include <rondo/bench/operators/operator_call.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/math_mode.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rondo::bench {

// A size of an operator's shape.
struct Dimension {
  const char* name;  // "m"
  const char* what;  // "rows of the result"
  int64_t standard;
  int64_t least = 1;
};

// Sizes by name.
class Shape {
 public:
  Shape() = default;
  explicit Shape(std::span<const Dimension> dimensions);  // the standard sizes
  Shape(std::initializer_list<std::pair<std::string, int64_t>> sizes) : sizes_(sizes) {}
  int64_t operator[](const std::string& name) const;
  bool set(const std::string& name, int64_t size);  // false: there is no such size
  const std::vector<std::pair<std::string, int64_t>>& sizes() const { return sizes_; }
  std::string text() const;  // "m=1024,n=1024,k=1024"

 private:
  std::vector<std::pair<std::string, int64_t>> sizes_;
};

struct OperatorRequest {
  Shape shape = {};
  std::string kind = {}, pass = {};  // of the operator's; empty: its first one
  DType type = DType::float32;
  Math math = Math::fp32;
  bool transpose_a = false, transpose_b = false;  // of gemm
  // Of the gradient of max pooling: the check accepts it at any of equal maxima, as a peer may have it.
  bool any_maximum = false;
};

struct OperatorKind {
  const char* name;  // empty: the operator has only one
  std::vector<Dimension> dimensions;
  std::vector<std::string> passes;  // empty: it has only one
  // Throws a bad_argument Error for sizes that do not fit each other.
  OperatorCall (*make)(const OperatorRequest& request);
};

struct Operator {
  const char *name, *help;
  std::vector<OperatorKind> kinds;
  bool has_math = false;  // an option for the arithmetic of float32 products
};

const std::vector<Operator>& operators();
// By their names; the first kind for an empty name. Null: there is none.
const Operator* find_operator(const std::string& name);
const OperatorKind* find_kind(const Operator& of, const std::string& kind);

// The call of an operator by its name. Throws a bad_argument Error.
OperatorCall make_call(const std::string& name, OperatorRequest request);

// ", bfloat16", or nothing for float32
std::string type_suffix(DType type);

// The families of operators, one in each file.
Operator gemm_operator();
Operator conv_operator();
Operator conv_transpose_operator();
Operator pool_operator();
Operator norm_operator();
Operator loss_operator();
Operator softmax_operator();
Operator layout_operator();
Operator reduce_operator();
Operator activation_operator();
Operator elementwise_operator();
Operator optimizer_operator();

// Calls make.template operator()<T>() with the type of the elements.
template <class Make>
OperatorCall with_type(DType type, Make&& make) {
  if (type == DType::bfloat16) return make.template operator()<__nv_bfloat16>();
  if (type == DType::float16) return make.template operator()<__half>();
  return make.template operator()<float>();
}

}  // namespace rondo::bench
