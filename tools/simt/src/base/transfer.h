// Transfer: a copy or a fill of rows of memory.
#pragma once

#include <driver_types.h>

#include <cstddef>

namespace simt {

struct Transfer {
  const char* name = "";  // in reports: "a copy"
  void* to = nullptr;
  const void* from = nullptr;  // null: a fill
  size_t to_pitch = 0, from_pitch = 0;
  size_t width = 0, height = 1;  // bytes of a row, rows of a slice
  size_t depth = 1, to_slice = 0, from_slice = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;  // of a copy
  unsigned value = 0, element_bytes = 1;    // of a fill
  int to_device = 0, from_device = 0;       // Memory::kHost: of the host
  bool frees =
      false;  // cudaFreeAsync: a fill that moves nothing, because what it frees has no value any more

  size_t rows() const { return height * depth; }
  char* to_row(size_t row) const {
    return static_cast<char*>(to) + row / height * to_slice + row % height * to_pitch;
  }
  const char* from_row(size_t row) const {
    return static_cast<const char*>(from) + row / height * from_slice + row % height * from_pitch;
  }
  // From the first byte to the last.
  size_t to_bytes() const { return (depth - 1) * to_slice + (height - 1) * to_pitch + width; }
  size_t from_bytes() const { return (depth - 1) * from_slice + (height - 1) * from_pitch + width; }
};

}  // namespace simt
