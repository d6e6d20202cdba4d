#include <simt/alignment.h>

#include <string>

#include "block.h"

namespace simt::detail {

void misaligned_access(const char* what, const void* address, size_t bytes) {
  running_block(what).fail(cudaErrorMisalignedAddress, [=] {
    return std::string(what) + " of " + std::to_string(bytes) + " bytes: the address is " +
           std::to_string(reinterpret_cast<uintptr_t>(address) % bytes) +
           " bytes past a multiple of its size";
  });
}

}  // namespace simt::detail
