// Reads of unwritten memory that are intended.
//
// A kernel may compute more than it stores: whole register tiles, past the last row, from memory that it has
// not written. The race detector (simt/check.h) reports such reads, except where the kernel allows them.
#pragma once

#include <cstddef>

namespace simt {

namespace detail {
void allow_unwritten(const void* begin, size_t bytes);
}

// From now on this memory counts as written, in this block if it is shared memory. The call of one thread is
// enough, before its own reads, or before a barrier that precedes the reads of others. Does nothing in a
// build that does not observe kernels.
[[gnu::always_inline]] inline void allow_unwritten([[maybe_unused]] const void* begin,
                                                   [[maybe_unused]] size_t bytes) {
#ifdef SIMT_OBSERVE
  detail::allow_unwritten(begin, bytes);
#endif
}

}  // namespace simt
