// TypedVectors: one guarded vector per rank, on the rank's device.
#pragma once

#include <rondo/collectives/data_view.h>
#include <rondo/tests/support/guarded_buffer.h>

#include <functional>
#include <memory>
#include <vector>

namespace rondo::test {

template <class T>
class TypedVectors {
 public:
  using OffsetOf = std::function<int64_t(int rank)>;

  // Filled with poison. offset_of(rank): elements from a 256-byte boundary to the first element.
  TypedVectors(const std::vector<int>& devices, int64_t size, const OffsetOf& offset_of) {
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      DeviceScope scope(devices[rank]);
      buffers_.push_back(std::make_unique<GuardedBuffer<T>>(size, offset_of(static_cast<int>(rank))));
      views_.push_back(buffers_.back()->view());
      const_views_.push_back(buffers_.back()->view());
    }
  }
  TypedVectors(const std::vector<int>& devices, int64_t size, int64_t offset = 0)
      : TypedVectors(devices, size, [offset](int) { return offset; }) {}
  TypedVectors(const std::vector<int>& devices, const std::vector<std::vector<T>>& values, int64_t offset = 0)
      : TypedVectors(devices, static_cast<int64_t>(values.at(0).size()), offset) {
    upload(values);
  }

  const std::vector<DataView>& views() const { return views_; }
  const std::vector<ConstDataView>& const_views() const { return const_views_; }
  DataView view(int rank) const { return views_.at(static_cast<size_t>(rank)); }

  void upload(const std::vector<std::vector<T>>& values) {
    for (size_t rank = 0; rank < buffers_.size(); ++rank) buffers_[rank]->upload(values.at(rank));
  }
  std::vector<T> download(size_t rank) const { return buffers_[rank]->download(); }

 private:
  std::vector<std::unique_ptr<GuardedBuffer<T>>> buffers_;
  std::vector<DataView> views_;
  std::vector<ConstDataView> const_views_;
};

using RankVectors = TypedVectors<float>;

}  // namespace rondo::test
