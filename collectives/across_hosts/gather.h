// gather(): a value of every process for every process, and a clear answer when they are not all there for the same.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>

#include <type_traits>
#include <vector>

namespace rondo {

// `mine`, of `bytes` bytes, of every process, in their order, into `all`. Under turn().
//
// Everybody first sends one message of 128 bytes: the kind of what is gathered and its size, and the value itself
// where it is small. When these differ the answer is a bad_argument in all processes, which names one that differs, and
// no message is left behind: nothing is lost. Kinds are compared by their first 39 characters.
Status gather_bytes(ProcessGroup& group, const void* mine, int64_t bytes, void* all, const std::string& what,
                    const std::string& kind);

// `what` it is for, for the message of a failure; `kind`: what must be the same in all processes, otherwise `what`.
template <class T>
Status gather(ProcessGroup& group, const T& mine, std::vector<T>& all, const std::string& what,
              const std::string& kind = "") {
  static_assert(std::is_trivially_copyable_v<T>);
  all.assign(static_cast<size_t>(group.size()), mine);
  return gather_bytes(group, &mine, sizeof(T), all.data(), what, kind.empty() ? what : kind);
}

}  // namespace rondo
