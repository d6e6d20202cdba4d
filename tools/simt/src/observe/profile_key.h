// ProfileKey: identifies launches whose counts are the same.
#pragma once

#include <simt/kernel.h>

#include <array>

#include <compare>
#include <cstdint>
#include <vector>

namespace simt {

struct ProfileKey {
  const void* function = nullptr;
  std::array<unsigned, 6> shape = {};
  size_t shared_bytes = 0;
  std::vector<unsigned char> arguments;  // with addresses reduced to their offset in 128 bytes

  auto operator<=>(const ProfileKey&) const = default;
};

inline ProfileKey profile_key(const Kernel& kernel, bool with_arguments) {
  ProfileKey key;
  key.function = kernel.function;
  key.shape = {kernel.grid.x, kernel.grid.y, kernel.grid.z, kernel.block.x, kernel.block.y, kernel.block.z};
  key.shared_bytes = kernel.shared_bytes;
  if (with_arguments) key.arguments = kernel.argument_bytes;
  return key;
}

}  // namespace simt
