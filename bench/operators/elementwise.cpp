#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/elementwise/binary.h>
#include <rondo/kernels/elementwise/unary.h>

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

struct Unary {
  const char* name;
  UnaryOperator op;
  double (*value)(double);
  Fill fill = Fill::normal;  // positive where the function needs it
};
constexpr Unary kUnary[] = {
    {"negate", UnaryOperator::negate, [](double x) { return -x; }},
    {"absolute", UnaryOperator::absolute, [](double x) { return std::abs(x); }},
    {"square", UnaryOperator::square, [](double x) { return x * x; }},
    {"reciprocal", UnaryOperator::reciprocal, [](double x) { return 1 / x; }},
    {"sqrt", UnaryOperator::sqrt, [](double x) { return std::sqrt(x); }, Fill::uniform},
    {"exp", UnaryOperator::exp, [](double x) { return std::exp(x); }},
    {"log", UnaryOperator::log, [](double x) { return std::log(x); }, Fill::uniform},
    {"tanh", UnaryOperator::tanh, [](double x) { return std::tanh(x); }}};

struct Binary {
  const char* name;
  BinaryOperator op;
  double (*value)(double, double);
};
constexpr Binary kBinary[] = {
    {"add", BinaryOperator::add, [](double a, double b) { return a + b; }},
    {"subtract", BinaryOperator::subtract, [](double a, double b) { return a - b; }},
    {"multiply", BinaryOperator::multiply, [](double a, double b) { return a * b; }},
    {"divide", BinaryOperator::divide, [](double a, double b) { return a / b; }},
    {"minimum", BinaryOperator::minimum, [](double a, double b) { return std::min(a, b); }},
    {"maximum", BinaryOperator::maximum, [](double a, double b) { return std::max(a, b); }}};

template <class T>
OperatorCall unary_elements(const Unary& of, int64_t size) {
  OperatorCall call;
  const auto x = call.operands.input<T>(size, of.fill);
  const auto y = call.operands.result<T>(size);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return unary(matrix(o[y], 1, size), matrix<const T>(o[x], 1, size), of.op, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(size, [&](int64_t i) {
      const double expected = of.value(value_at(host.after(x), i));
      return is_close(host.after(y)[i], expected, std::abs(expected) + 1e-5);
    });
  };
  return call;
}

template <class T>
OperatorCall binary_elements(const Binary& of, int64_t size) {
  OperatorCall call;
  const auto a = call.operands.input<T>(size), b = call.operands.input<T>(size);
  const auto y = call.operands.result<T>(size);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return binary(matrix(o[y], 1, size), matrix<const T>(o[a], 1, size), matrix<const T>(o[b], 1, size),
                  of.op, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(size, [&](int64_t i) {
      const double left = value_at(host.after(a), i), right = value_at(host.after(b), i),
                   expected = of.value(left, right);
      return is_close(host.after(y)[i], expected, std::abs(expected) + 1e-5);
    });
  };
  return call;
}

template <class T>
OperatorCall biased_elements(int64_t rows, int64_t cols) {
  OperatorCall call;
  const int64_t size = saturating_product({rows, cols});
  const auto x = call.operands.input<T>(size);
  const auto bias = call.operands.input<float>(cols);
  const auto y = call.operands.result<T>(size);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return add_bias(matrix(o[y], rows, cols), matrix<const T>(o[x], rows, cols), {o[bias], cols}, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(size, [&](int64_t i) {
      const double expected = value_at(host.after(x), i) + value_at(host.after(bias), i % cols);
      return is_close(host.after(y)[i], expected, std::abs(expected) + 1e-5);
    });
  };
  return call;
}

OperatorCall make_elementwise(const OperatorRequest& request) {
  OperatorCall call = with_type(request.type, [&]<class T>() {
    for (const Unary& of : kUnary)
      if (request.kind == of.name) return unary_elements<T>(of, request.shape["size"]);
    for (const Binary& of : kBinary)
      if (request.kind == of.name) return binary_elements<T>(of, request.shape["size"]);
    return biased_elements<T>(request.shape["rows"], request.shape["cols"]);
  });
  const bool bias = request.kind == "add_bias";
  call.name = concat(
      request.kind, " of ",
      bias ? concat(counted(request.shape["rows"], "row"), ", ", counted(request.shape["cols"], "column"))
           : counted(request.shape["size"], "element"),
      type_suffix(request.type));
  return call;
}

}  // namespace

Operator elementwise_operator() {
  const std::vector<Dimension> size = {{"size", "elements", 1 << 24}};
  Operator elementwise = {"elementwise", "An operator on the elements of one or two arrays", {}};
  for (const Unary& of : kUnary) elementwise.kinds.push_back({of.name, size, {}, make_elementwise});
  for (const Binary& of : kBinary) elementwise.kinds.push_back({of.name, size, {}, make_elementwise});
  elementwise.kinds.push_back(
      {"add_bias", {{"rows", "rows", 65536}, {"cols", "columns", 256}}, {}, make_elementwise});
  return elementwise;
}

}  // namespace rondo::bench
