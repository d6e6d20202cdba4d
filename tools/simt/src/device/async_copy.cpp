// cp.async in late mode: the copies of a group happen at the wait for it.
#include <simt/async_copy.h>

#include <string>

#include "block.h"

namespace simt::detail {

void async_copy_late(void* to, const void* from, size_t bytes, bool valid) {
  std::memset(to, 0xFF, bytes);
  running_block("cp.async").current().copies.push_back({to, from, bytes, valid});
}

void async_commit_late() {
  Fiber& fiber = running_block("cp.async").current();
  size_t grouped = 0;
  for (size_t size : fiber.group_sizes) grouped += size;
  fiber.group_sizes.push_back(fiber.copies.size() - grouped);
}

void async_wait_late(int groups) {
  Fiber& fiber = running_block("cp.async").current();
  if (fiber.group_sizes.size() <= static_cast<size_t>(groups)) return;
  const auto end_of_groups = fiber.group_sizes.end() - groups;
  size_t count = 0;
  for (auto size = fiber.group_sizes.begin(); size != end_of_groups; ++size) count += *size;
  const auto end_of_copies = fiber.copies.begin() + static_cast<ptrdiff_t>(count);
  for (auto copy = fiber.copies.begin(); copy != end_of_copies; ++copy) {
    if (copy->valid)
      std::memcpy(copy->to, copy->from, copy->bytes);
    else
      std::memset(copy->to, 0, copy->bytes);
  }
  fiber.group_sizes.erase(fiber.group_sizes.begin(), end_of_groups);
  fiber.copies.erase(fiber.copies.begin(), end_of_copies);
}

void misaligned_copy(const void* to, const void* from, size_t bytes) {
  running_block("cp.async").fail(cudaErrorMisalignedAddress, [=] {
    const auto remainder = [bytes](const void* p) {
      return std::to_string(reinterpret_cast<uintptr_t>(p) % bytes);
    };
    return "cp.async of " + std::to_string(bytes) + " bytes: the destination is " + remainder(to) +
           " bytes past a multiple of its size, the source " + remainder(from);
  });
}

}  // namespace simt::detail
