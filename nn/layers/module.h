// Module: a part of a network that adds its operations to a graph. A module is a description: it owns no
// memory and depends on no device or batch size. One module serves any number of replicas.
//
//   const Sequential lenet = {Conv2d(20, {3, 3}), ReLU(), AvgPool2d(2), Flatten(), Linear(10)};
//   Graph graph = make_graph(lenet, {28, 28, 1});
//
// To write a module, derive from Module and, in build(), call other modules or add an Op.
#pragma once

#include <rondo/nn/graph/graph.h>

#include <concepts>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace rondo::nn {

class AnyModule;

class Module {
 public:
  virtual ~Module() = default;
  // Adds the module's operations after `x` and returns their result. Throws a bad_argument Error if the
  // module does not support the shape of x.
  virtual Value build(Graph& graph, Value x) const = 0;

  // ---- For splitting a network over devices (nn/strategies) ----

  // The modules that it runs in sequence: those of a Sequential, none for any other module.
  virtual std::vector<AnyModule> parts() const;
  // Number of output channels, if each channel has its own parameters and does not depend on the others:
  // Linear and Conv2d. 0: the module cannot be split by outputs.
  virtual int64_t outputs() const { return 0; }
  // The same layer with `outputs` output channels. Throws a bad_argument Error where outputs() is 0.
  virtual AnyModule with_outputs(int64_t outputs) const;
  // True if each output channel depends only on the same channel of x, and not on random numbers.
  virtual bool channelwise() const { return false; }
};

// Holds any module by value.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(M module) : module_(std::make_shared<M>(std::move(module))) {}
  Value build(Graph& graph, Value x) const { return module_->build(graph, x); }
  const Module* operator->() const { return module_.get(); }

 private:
  std::shared_ptr<const Module> module_;
};

// Runs modules in sequence. Parameter names begin with the module's index: "0.weight", "2.bias". Throws a
// bad_argument Error without modules.
class Sequential : public Module {
 public:
  Sequential(std::initializer_list<AnyModule> modules) : Sequential(std::vector(modules)) {}
  explicit Sequential(std::vector<AnyModule> modules);
  Value build(Graph& graph, Value x) const override;
  std::vector<AnyModule> parts() const override { return modules_; }

 private:
  std::vector<AnyModule> modules_;
};

// relu(body(x) + shortcut(x)), from He et al., "Deep residual learning for image recognition", 2015. Without
// a shortcut, computes relu(body(x) + x); body(x) must then have the shape of x. The ReLU can be left out, as
// in the blocks of a transformer.
class Residual : public Module {
 public:
  struct Options {
    bool relu = true;
  };
  explicit Residual(AnyModule body) : Residual(std::move(body), Options{}) {}
  Residual(AnyModule body, Options options) : body_(std::move(body)), options_(options) {}
  Residual(AnyModule body, AnyModule shortcut) : body_(std::move(body)), shortcut_{std::move(shortcut)} {}
  Value build(Graph& graph, Value x) const override;

 private:
  AnyModule body_;
  std::vector<AnyModule> shortcut_;  // zero or one
  Options options_;
};

// The network as a chain of modules. Nested Sequentials are flattened.
std::vector<AnyModule> chain_of(const AnyModule& network);

// ", tf32" for the description of an operation; empty for fp32.
std::string math_suffix(Math math);

// Builds the graph of a network for inputs of this shape. `math` is the arithmetic of the layers that do not
// choose their own. `activations` is the type of all tensors between the network's input and output. The
// input and the output are float32: an operation at the beginning converts from it, one at the end back
// to it.
Graph make_graph(const AnyModule& network, Shape input, Math math = Math::fp32,
                 DType activations = DType::float32);

}  // namespace rondo::nn
