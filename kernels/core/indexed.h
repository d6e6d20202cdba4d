// Standard containers whose index may be of any integer type: a rank is an int, and needs no cast here.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace rondo {

template <class Container>
class Indexed : public Container {
 public:
  using Container::Container;
  Indexed() = default;
  Indexed(Container from) : Container(std::move(from)) {}

  decltype(auto) operator[](std::integral auto index) {
    return Container::operator[](static_cast<size_t>(index));
  }
  decltype(auto) operator[](std::integral auto index) const {
    return Container::operator[](static_cast<size_t>(index));
  }
  int count() const { return static_cast<int>(this->size()); }  // the size as an int
};

// One element per rank, in rank order: an owner, and a view.
template <class T>
using PerRank = Indexed<std::vector<T>>;
template <class T>
using RankSpan = Indexed<std::span<T>>;

}  // namespace rondo
