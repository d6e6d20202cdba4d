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

class Module {
 public:
  virtual ~Module() = default;
  // Adds the module's operations behind `x` and returns their result. Throws a bad_argument Error where x has a shape that
  // it can't take.
  virtual Value build(Graph& graph, Value x) const = 0;
};

// Any module by value.
class AnyModule {
 public:
  template <std::derived_from<Module> M>
  AnyModule(M module) : module_(std::make_shared<M>(std::move(module))) {}
  Value build(Graph& graph, Value x) const { return module_->build(graph, x); }

 private:
  std::shared_ptr<const Module> module_;
};

// One after the other. Their parameters are named by their numbers: "0.weight", "2.bias".
class Sequential : public Module {
 public:
  Sequential(std::initializer_list<AnyModule> modules) : modules_(modules) {}
  explicit Sequential(std::vector<AnyModule> modules) : modules_(std::move(modules)) {}
  Value build(Graph& graph, Value x) const override;

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

// The graph of a whole network for inputs of this shape.
Graph make_graph(const AnyModule& network, Shape input);

}  // namespace rondo::nn
