#include <rondo/bench/operators/operators.h>

#include <algorithm>

namespace rondo::bench {

Shape::Shape(std::span<const Dimension> dimensions) {
  for (const Dimension& dimension : dimensions) sizes_.emplace_back(dimension.name, dimension.standard);
}

int64_t Shape::operator[](const std::string& name) const {
  const auto found = std::ranges::find(sizes_, name, [](const auto& size) { return size.first; });
  if (found == sizes_.end()) throw Error(bad_argument("the shape has no size '", name, "'"));
  return found->second;
}

bool Shape::set(const std::string& name, int64_t size) {
  const auto found = std::ranges::find(sizes_, name, [](const auto& each) { return each.first; });
  if (found == sizes_.end()) return false;
  found->second = size;
  return true;
}

std::string Shape::text() const {
  std::string text;
  for (const auto& [name, size] : sizes_) text += concat(text.empty() ? "" : ",", name, "=", size);
  return text;
}

const std::vector<Operator>& operators() {
  static const std::vector<Operator> all = {
      gemm_operator(),   conv_operator(),       conv_transpose_operator(), pool_operator(),
      norm_operator(),   loss_operator(),       softmax_operator(),        layout_operator(),
      reduce_operator(), activation_operator(), elementwise_operator(),    optimizer_operator()};
  return all;
}

const Operator* find_operator(const std::string& name) {
  const auto found = std::ranges::find(operators(), name, &Operator::name);
  return found == operators().end() ? nullptr : &*found;
}

const OperatorKind* find_kind(const Operator& of, const std::string& kind) {
  if (kind.empty()) return &of.kinds.front();
  const auto found = std::ranges::find(of.kinds, kind, &OperatorKind::name);
  return found == of.kinds.end() ? nullptr : &*found;
}

OperatorCall make_call(const std::string& name, OperatorRequest request) {
  const Operator* const found = find_operator(name);
  if (!found) throw Error(bad_argument("there is no operator '", name, "'"));
  const OperatorKind* const kind = find_kind(*found, request.kind);
  if (!kind) throw Error(bad_argument(name, " has no kind '", request.kind, "'"));
  request.kind = kind->name;
  if (request.pass.empty() && !kind->passes.empty()) request.pass = kind->passes.front();
  if (!request.pass.empty() && std::ranges::find(kind->passes, request.pass) == kind->passes.end())
    throw Error(bad_argument(name, " has no pass '", request.pass, "'"));
  OperatorCall call = kind->make(request);
  call.pass = request.pass;
  if (call.work.bytes == 0) call.work.bytes = call.operands.least_bytes();
  return call;
}

std::string type_suffix(DType type) { return type == DType::float32 ? "" : concat(", ", name_of(type)); }

}  // namespace rondo::bench
