// Graph: a network as a list of operations. Built once by modules (nn/layers/module.h), shared by all
// replicas.
#pragma once

#include <rondo/kernels/core/math_mode.h>
#include <rondo/nn/graph/op.h>

#include <memory>
#include <string>
#include <vector>

namespace rondo::nn {

// The output of an operation, or the input of the network.
struct Value {
  int id = -1;
  Shape shape;
  DType type = DType::float32;  // of the elements
};

// Initial values of a parameter. Normal and uniform values come from Philox, with the parameter's index as
// the sequence number.
struct Init {
  enum class Kind { zeros, ones, normal, uniform };
  Kind kind = Kind::zeros;
  float scale = 0;  // normal: the standard deviation; uniform: from -scale to scale

  static Init zeros() { return {}; }
  static Init ones() { return {Kind::ones, 0}; }
  static Init normal(float stddev) { return {Kind::normal, stddev}; }
  static Init uniform(float bound) { return {Kind::uniform, bound}; }
};

// A trained tensor, or a state that its layer updates. `offset` is in floats from the beginning of the
// parameter arena or the state arena.
struct Parameter {
  std::string name;  // "block2.conv1.weight"
  std::vector<int64_t> shape;
  Init init;
  int64_t size = 0;
  int64_t offset = 0;
  bool persistent =
      true;  // false: a state that only passes data from forward to backward; checkpoints omit it
  // int64: a counter, whose value takes the memory of `size` = 2 floats.
  DType type = DType::float32;
  // Its name and shape in a state dict of PyTorch, where the rules of checkpoint/state_dict.cpp do not give
  // them. The order of the values is the same.
  std::string torch_name = {};
  std::vector<int64_t> torch_shape = {};
};

class Graph {
 public:
  struct Node {
    std::unique_ptr<Op> op;
    std::string name;
    std::vector<int> inputs;
    int output = -1;
    std::vector<int> parameters, states;
    bool sums_next = false;  // forward computes the sums of the next node (fuse_sums())
  };
  // Input number `input` of node `node`.
  struct Use {
    int node = -1;
    int input = -1;
    bool operator==(const Use&) const = default;
  };
  struct ValueInfo {
    Shape shape;
    DType type = DType::float32;
    int producer = -1;      // index of the node; -1: the network's input
    int alias_of = -1;      // >= 0: same memory as that value, in another shape
    std::vector<Use> uses;  // in node order; a use of an alias counts for the value it refers to
    bool kept = false;      // keep()
  };

  // The input is float32. `activations`: the type that make_graph() converts it to; with bfloat16 the math
  // must be fp32, because products of bfloat16 are exact in fp32. Throws a bad_argument Error.
  explicit Graph(Shape input, Math math = Math::fp32, DType activations = DType::float32);

  Math math() const { return math_; }  // of the layers that do not choose their own
  DType activations() const { return activations_; }
  Value input() const { return value(0); }
  Value output() const { return {output_, output_shape_, value(output_).type}; }

  // ---- For modules ----

  // While a Scope exists, names of new nodes and parameters begin with "name.".
  class Scope {
   public:
    Scope(Graph& graph, const std::string& name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    size_t length_;
  };

  int parameter(const std::string& name, std::vector<int64_t> shape, Init init);
  int state(const std::string& name, std::vector<int64_t> shape, Init init);
  int counter(const std::string& name);  // a state: one int64, at first 0, aligned to 16 bytes
  int non_persistent_buffer(const std::string& name, std::vector<int64_t> shape);  // zeros; not saved
  // Parameter::torch_name, the last part of it, and Parameter::torch_shape.
  void set_torch_name(int parameter, const std::string& name);
  void set_torch_shape(int parameter, std::vector<int64_t> shape);
  // The output has the type of the inputs, which must be the same; without inputs, float32.
  Value add(std::unique_ptr<Op> op, const std::vector<Value>& inputs, Shape output,
            std::vector<int> parameters = {}, std::vector<int> states = {});
  // The value in another type: an operation that converts it, or the value itself.
  Value cast(Value value, DType type);
  Value reshape(Value value, Shape shape);  // shares the value's memory
  // For a value that an operation will use after others have been added: no ReLU is fused into the operation
  // that computes it.
  void keep(Value value) { values_[static_cast<size_t>(resolved(value.id))].kept = true; }
  // Fuses a ReLU into the operation that computes `value`. Returns false if that operation cannot fuse it, or
  // if `value` already has uses or is kept for one.
  bool fuse_relu(Value value);
  // Makes the operation that computes `value` also compute, in training, the forward_sums() of the operation
  // that is added next, which must not compute them. Returns false if that operation cannot, or if it is not
  // the last one: all operations write their sums to the same memory.
  bool fuse_sums(Value value);
  void set_output(Value value) { output_ = resolved(value.id), output_shape_ = value.shape; }

  // ---- For running the network ----

  const std::vector<Node>& nodes() const { return nodes_; }
  Value value(int id) const {
    const ValueInfo& info = values_[static_cast<size_t>(id)];
    return {id, info.shape, info.type};
  }
  const std::vector<ValueInfo>& values() const { return values_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Parameter>& states() const { return states_; }
  int64_t parameter_arena_size() const { return parameter_arena_; }  // in floats, including gaps
  int64_t state_arena_size() const { return state_arena_; }
  int64_t parameter_count() const;  // excluding gaps
  // The value that owns the memory of `value`: itself unless it is an alias.
  int resolved(int value) const;
  // The use whose backward writes the value's gradient first; the other uses add to it. Returns {-1, -1} for
  // the network's output, whose gradient is written by the loss.
  Use first_writer(int value) const;

 private:
  Value add(std::unique_ptr<Op> op, const std::vector<Value>& inputs, Shape output, DType type,
            std::vector<int> parameters, std::vector<int> states);
  Parameter make(const std::string& name, std::vector<int64_t> shape, Init init, int64_t& arena) const;

  Math math_;
  DType activations_;
  std::vector<Node> nodes_;
  std::vector<ValueInfo> values_;
  std::vector<Parameter> parameters_, states_;
  int64_t parameter_arena_ = 0, state_arena_ = 0;
  std::string scope_;
  int output_ = 0;
  Shape output_shape_;
};

}  // namespace rondo::nn
