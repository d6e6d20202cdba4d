// Arena: many tensors in one flat buffer, so that the ring has one buffer to reduce and the optimizer one
// kernel to launch.
#pragma once

#include <cstdint>

namespace rondo {

// Places tensors of floats one after the other. Each starts on a 16-byte boundary, where vector loads are
// possible; the up to three floats between two tensors belong to nobody and stay zero.
class ArenaLayout {
 public:
  // Where the next `count` floats lie in `arena`; with a null arena the layout only measures.
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
