// Arena: many tensors in one flat buffer, so that one all-reduce and one optimizer kernel cover all of them.
#pragma once

#include <cstdint>

namespace rondo {

// Places float tensors one after the other. Each starts on a 16-byte boundary, as vector loads require. The
// gaps between two tensors, at most three floats, stay zero.
class ArenaLayout {
 public:
  // Returns the position of the next `count` floats in `arena`. With a null arena it only counts the size.
  float* place(float* arena, int64_t count) {
    const int64_t offset = size_;
    constexpr int64_t kAlign = 4;
    size_ = (offset + count + kAlign - 1) / kAlign * kAlign;
    return arena ? arena + offset : nullptr;
  }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
};

}  // namespace rondo
