// Handles: numbers by which a program names streams, events, graphs and other objects.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

namespace simt {

// Thrown inside the runtime, and returned as the API function's result.
struct Failure {
  cudaError_t error;
};

inline void require(bool condition, cudaError_t error) {
  if (!condition) throw Failure{error};
}

// Handles of all kinds, and other unique numbers, come from one counter and are never reused.
uintptr_t new_handle();

// Maps handles to objects.
template <class T>
class Handles {
 public:
  template <class Handle>
  void add(std::shared_ptr<T> object, Handle* handle) {
    const uintptr_t key = new_handle();
    objects_[key] = std::move(object);
    *handle = reinterpret_cast<Handle>(key);
  }
  const std::shared_ptr<T>& get(const void* handle) const {
    const auto found = objects_.find(reinterpret_cast<uintptr_t>(handle));
    require(found != objects_.end(), cudaErrorInvalidResourceHandle);
    return found->second;
  }
  std::shared_ptr<T> take(const void* handle) {
    std::shared_ptr<T> object = get(handle);
    objects_.erase(reinterpret_cast<uintptr_t>(handle));
    return object;
  }
  template <class Work>
  void for_each(Work work) {
    for (const auto& entry : objects_) work(*entry.second);
  }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }

 private:
  std::unordered_map<uintptr_t, std::shared_ptr<T>> objects_;
};

}  // namespace simt
