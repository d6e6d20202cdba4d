// Graph: a network as a list of operations, made once by modules (nn/layers/module.h) and then the same for every replica.
#pragma once

#include <rondo/nn/graph/op.h>

#include <memory>
#include <string>
#include <vector>

namespace rondo::nn {

// The output of an operation, or the input of the network.
struct Value {
  int id = -1;
  Shape shape;
};

// How a parameter begins. Normal and uniform numbers are Philox's, with the parameter's number as the sequence.
struct Init {
  enum class Kind { zeros, ones, normal, uniform };
  Kind kind = Kind::zeros;
  float scale = 0;  // normal: the standard stddev; uniform: from -scale to scale

  static Init zeros() { return {}; }
  static Init ones() { return {Kind::ones, 0}; }
  static Init normal(float stddev) { return {Kind::normal, stddev}; }
  static Init uniform(float bound) { return {Kind::uniform, bound}; }
};

// A tensor that the optimizer trains, or a state that the layer itself keeps. `offset` is in floats, from the beginning
// of the arena of all parameters, or of all states.
struct Parameter {
  std::string name;  // "block2.conv1.weight"
  std::vector<int64_t> shape;
  Init init;
  int64_t size = 0;
  int64_t offset = 0;
  bool lasting = true;  // false: a state that only goes from forward to backward, and need not be saved
};

class Graph {
 public:
  struct Node {
    std::unique_ptr<Op> op;
    std::string name;
    std::vector<int> inputs;
    int output = -1;
    std::vector<int> parameters, states;
  };
  // Input `input` of a node.
  struct Use {
    int node = -1;
    int input = -1;
    bool operator==(const Use&) const = default;
  };
  struct ValueInfo {
    Shape shape;
    int producer = -1;      // the node; -1: the network's input
    int alias_of = -1;      // >= 0: the same memory, seen in another shape
    std::vector<Use> uses;  // in the order of the nodes; those of aliases are counted at the value itself
  };

  explicit Graph(Shape input);

  Value input() const { return {0, values_[0].shape}; }
  Value output() const { return {output_, output_shape_}; }

  // ---- for modules ----

  // Names of what is made meanwhile begin with "name.".
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
  int non_persistent_buffer(const std::string& name, std::vector<int64_t> shape);  // not lasting; begins as zeros
  Value add(std::unique_ptr<Op> op, const std::vector<Value>& inputs, Shape output,
            std::vector<int> parameters = {}, std::vector<int> states = {});
  Value reshape(Value value, Shape shape);  // costs nothing
  // Lets the operation that made `value` rectify it; false where it can't, or somebody has seen the value as it is.
  bool fuse_relu(Value value);
  void set_output(Value value) { output_ = resolved(value.id), output_shape_ = value.shape; }

  // ---- for those who run it ----

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueInfo>& values() const { return values_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Parameter>& states() const { return states_; }
  int64_t parameter_arena_size() const { return parameter_arena_; }  // in floats, gaps included
  int64_t state_arena_size() const { return state_arena_; }
  int64_t parameter_count() const;  // without gaps
  // The value whose memory it is.
  int resolved(int value) const;
  // Whose backward is the first to write the value's gradient; the others add to it. Nobody's for the network's
  // output, which whoever computes the loss writes.
  Use first_writer(int value) const;

 private:
  Parameter make(const std::string& name, std::vector<int64_t> shape, Init init, int64_t& arena) const;

  std::vector<Node> nodes_;
  std::vector<ValueInfo> values_;
  std::vector<Parameter> parameters_, states_;
  int64_t parameter_arena_ = 0, state_arena_ = 0;
  std::string scope_;
  int output_ = 0;
  Shape output_shape_;
};

}  // namespace rondo::nn
