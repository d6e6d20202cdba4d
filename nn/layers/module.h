// Module: a part of a network that adds its operations to a graph. Modules are descriptions: they own no memory, know no
// device and no batch, and one module serves any number of replicas.
//
//   const Sequential lenet = {Conv2d(20, {3, 3}), ReLU(), AvgPool2d(2), Flatten(), Linear(10)};
//   Graph graph = make_graph(lenet, {28, 28, 1});
//
// A module of one's own derives from Module and composes others in build(), or adds an Op of its own.
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
  // Adds the module's operations behind `x` and returns their result. Throws a bad_argument Error where x has a shape that
  // it can't take.
  virtual Value build(Graph& graph, Value x) const = 0;

  // ---- for those who cut a network into pieces (nn/strategies) ----

  // What it runs, one after the other: the modules of a Sequential, and none for every other module.
  virtual std::vector<AnyModule> parts() const;
  // Output channels, where each has parameters of its own and needs no other: Linear and Conv2d. 0: it can't be cut so.
  virtual int64_t outputs() const { return 0; }
  // The same layer with so many of them. Throws a bad_argument Error where outputs() is 0.
  virtual AnyModule with_outputs(int64_t outputs) const;
  // Whether a channel of the result depends on the same channel of x alone, and on nothing random.
  virtual bool channelwise() const { return false; }
};

// Any module by value.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(M module) : module_(std::make_shared<M>(std::move(module))) {}
  Value build(Graph& graph, Value x) const { return module_->build(graph, x); }
  const Module* operator->() const { return module_.get(); }

 private:
  std::shared_ptr<const Module> module_;
};

// One after the other. Their parameters are named by their numbers: "0.weight", "2.bias".
class Sequential : public Module {
 public:
  Sequential(std::initializer_list<AnyModule> modules) : modules_(modules) {}
  explicit Sequential(std::vector<AnyModule> modules) : modules_(std::move(modules)) {}
  Value build(Graph& graph, Value x) const override;
  std::vector<AnyModule> parts() const override { return modules_; }

 private:
  std::vector<AnyModule> modules_;
};

// relu(body(x) + shortcut(x)): He et al., "Deep residual learning for image recognition", 2015. Without a shortcut x itself
// is added, and must have the shape of body(x).
class Residual : public Module {
 public:
  explicit Residual(AnyModule body) : body_(std::move(body)) {}
  Residual(AnyModule body, AnyModule shortcut) : body_(std::move(body)), shortcut_{std::move(shortcut)} {}
  Value build(Graph& graph, Value x) const override;

 private:
  AnyModule body_;
  std::vector<AnyModule> shortcut_;  // one, or none
};

// The network as the chain of its modules, Sequentials inside Sequentials opened.
std::vector<AnyModule> chain_of(const AnyModule& network);

// The graph of a whole network for inputs of this shape.
Graph make_graph(const AnyModule& network, Shape input);

}  // namespace rondo::nn
