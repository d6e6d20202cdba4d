#include <rondo/nn/graph/graph.h>

#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/text.h>

#include <algorithm>
#include <numeric>

namespace rondo::nn {

std::string text(const Shape& shape) {
  if (shape.height == 1 && shape.width == 1) return exact_text(shape.channels);
  return concat(shape.height, " x ", shape.width, " x ", shape.channels);
}

std::string position_in_sample(const Shape& shape, int64_t sample, int64_t index) {
  if (shape.height == 1 && shape.width == 1) return concat("[sample ", sample, ", element ", index, "]");
  const int64_t channel = index % shape.channels, pixel = index / shape.channels;
  return concat("[image ", sample, ", row ", pixel / shape.width, ", column ", pixel % shape.width,
                ", channel ", channel, "]");
}

int64_t checked_product(const std::string& name, std::initializer_list<int64_t> sides) {
  return checked_product(name, std::span(sides.begin(), sides.size()));
}

int64_t checked_product(const std::string& name, std::span<const int64_t> sides) {
  const bool negative = std::any_of(sides.begin(), sides.end(), [](int64_t side) { return side < 0; });
  const int64_t size = negative ? 0 : saturating_product(sides);
  if (!negative && size <= kMostElements) return size;
  std::string all;
  for (const int64_t side : sides) all += concat(all.empty() ? "" : " x ", side);
  throw Error(
      bad_argument(name, " is ", all, ", no side may be negative, and the product at most ", kMostElements));
}

void check_arena(const std::string& name, int64_t floats) {
  if (floats > kMostArena)
    throw Error(
        Status(StatusCode::out_of_resources, concat(name, " need more than 2^57 bytes of device memory")));
}

void throw_wrong_type(DType is, DType wanted) {
  throw Error(
      bad_argument("tensor: its elements are ", name_of(is), ", must be ", name_of(wanted), " for this use"));
}

namespace {

// Converts a tensor to another type, and its gradient back.
class CastOp : public Op {
 public:
  explicit CastOp(DType to) : to_(to) {}
  std::string description() const override { return concat("cast to ", name_of(to_)); }
  Status forward(const OpContext& context) const override {
    return convert(context.output, context.inputs[0], context.stream);
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return convert(context.input_gradients[0], context.output_gradient, context.stream);
  }

 private:
  static Status convert(const Tensor& to, const ConstTensor& from, cudaStream_t stream) {
    if (to.type == DType::float32) return rondo::cast(to.elements(), from.elements<__nv_bfloat16>(), stream);
    return rondo::cast(to.elements<__nv_bfloat16>(), from.elements(), stream);
  }

  DType to_;
};

}  // namespace

Graph::Graph(Shape input, Math math, DType activations)
    : math_(math), activations_(activations), output_shape_(input) {
  if (activations != DType::float32 && activations != DType::bfloat16)
    throw Error(
        bad_argument("graph: the activations are ", name_of(activations), ", must be float32 or bfloat16"));
  if (activations != DType::float32 && math != Math::fp32)
    throw Error(bad_argument("graph: the math is ", name_of(math), ", must be fp32 with activations of ",
                             name_of(activations)));
  if (input.height < 1 || input.width < 1 || input.channels < 1)
    throw Error(bad_argument("graph: the input is ", input.height, " x ", input.width, " x ", input.channels,
                             ", every side must be at least 1"));
  checked_product("graph: the input", {input.height, input.width, input.channels});
  values_.push_back({.shape = input, .uses = {}});
}

Graph::Scope::Scope(Graph& graph, const std::string& name) : graph_(graph), length_(graph.scope_.size()) {
  graph.scope_ += name + ".";
}

Graph::Scope::~Scope() { graph_.scope_.resize(length_); }

Parameter Graph::make(const std::string& name, std::vector<int64_t> shape, Init init, int64_t& arena) const {
  Parameter parameter{scope_ + name, std::move(shape), init, 0, arena};
  parameter.size = checked_product("graph: '" + parameter.name + "'", parameter.shape);
  const int64_t kAlign = 16 / size_of(activations_);  // 16 bytes, for vector accesses, also when rounded
  const int64_t with_it = arena + (parameter.size + kAlign - 1) / kAlign * kAlign;
  check_arena(concat("graph: the tensors up to '", parameter.name, "'"), with_it);
  arena = with_it;
  return parameter;
}

int Graph::parameter(const std::string& name, std::vector<int64_t> shape, Init init) {
  parameters_.push_back(make(name, std::move(shape), init, parameter_arena_));
  return static_cast<int>(parameters_.size()) - 1;
}

int Graph::state(const std::string& name, std::vector<int64_t> shape, Init init) {
  states_.push_back(make(name, std::move(shape), init, state_arena_));
  return static_cast<int>(states_.size()) - 1;
}

int Graph::counter(const std::string& name) {
  const int number = state(name, {sizeof(int64_t) / sizeof(float)}, Init::zeros());
  states_.back().shape = {};
  states_.back().type = DType::int64;
  return number;
}

int Graph::non_persistent_buffer(const std::string& name, std::vector<int64_t> shape) {
  const int number = state(name, std::move(shape), Init::zeros());
  states_.back().persistent = false;
  return number;
}

void Graph::set_torch_name(int parameter, const std::string& name) {
  parameters_[static_cast<size_t>(parameter)].torch_name = scope_ + name;
}

void Graph::set_torch_shape(int parameter, std::vector<int64_t> shape) {
  parameters_[static_cast<size_t>(parameter)].torch_shape = std::move(shape);
}

int Graph::resolved(int value) const {
  while (values_[static_cast<size_t>(value)].alias_of >= 0)
    value = values_[static_cast<size_t>(value)].alias_of;
  return value;
}

Value Graph::add(std::unique_ptr<Op> op, const std::vector<Value>& inputs, Shape output,
                 std::vector<int> parameters, std::vector<int> states) {
  const DType type = inputs.empty() ? DType::float32 : this->value(inputs[0].id).type;
  for (const Value& input : inputs)
    if (const DType other = this->value(input.id).type; other != type)
      throw Error(bad_argument("graph: the inputs of ", op->description(), " are ", name_of(type), " and ",
                               name_of(other), ", must have the same type"));
  return add(std::move(op), inputs, output, type, std::move(parameters), std::move(states));
}

Value Graph::cast(Value value, DType type) {
  if (this->value(value.id).type == type) return value;
  return add(std::make_unique<CastOp>(type), {value}, value.shape, type, {}, {});
}

Value Graph::add(std::unique_ptr<Op> op, const std::vector<Value>& inputs, Shape output, DType type,
                 std::vector<int> parameters, std::vector<int> states) {
  checked_product("graph: the output of " + op->description(),
                  {output.height, output.width, output.channels});
  const int node = static_cast<int>(nodes_.size()), value = static_cast<int>(values_.size());
  std::vector<int> ids;
  for (const Value& input : inputs) {
    values_[static_cast<size_t>(resolved(input.id))].uses.push_back({node, static_cast<int>(ids.size())});
    ids.push_back(input.id);
  }
  std::string name = scope_.empty() ? std::string() : scope_.substr(0, scope_.size() - 1);
  nodes_.push_back(
      {std::move(op), std::move(name), std::move(ids), value, std::move(parameters), std::move(states)});
  values_.push_back({.shape = output, .type = type, .producer = node, .uses = {}});
  return {value, output, type};
}

Value Graph::reshape(Value value, Shape shape) {
  if (value.shape.size() != shape.size())
    throw Error(bad_argument("graph: ", text(value.shape), " can't be seen as ", text(shape), ", which has ",
                             counted(shape.size(), "element"), " instead of ", value.shape.size()));
  const DType type = this->value(value.id).type;
  values_.push_back({.shape = shape, .type = type, .producer = -1, .alias_of = value.id, .uses = {}});
  return {static_cast<int>(values_.size()) - 1, shape, type};
}

bool Graph::fuse_relu(Value value) {
  const ValueInfo& info = values_[static_cast<size_t>(resolved(value.id))];
  if (info.producer < 0 || !info.uses.empty() || info.kept) return false;
  return nodes_[static_cast<size_t>(info.producer)].op->fuse_relu();
}

bool Graph::fuse_sums(Value value) {
  const ValueInfo& info = values_[static_cast<size_t>(value.id)];
  if (info.producer < 0 || info.producer + 1 != static_cast<int>(nodes_.size())) return false;
  Node& node = nodes_.back();
  return node.sums_next = node.op->fuse_sums();
}

// Backward runs from the last node to the first, so the last use writes first.
Graph::Use Graph::first_writer(int value) const {
  value = resolved(value);
  Use writer;
  if (value == resolved(output_)) return writer;
  for (const Use& use : values_[static_cast<size_t>(value)].uses)
    if (use.node > writer.node) writer = use;
  return writer;
}

int64_t Graph::parameter_count() const {
  return std::accumulate(parameters_.begin(), parameters_.end(), int64_t{0},
                         [](int64_t sum, const Parameter& parameter) { return sum + parameter.size; });
}

}  // namespace rondo::nn
