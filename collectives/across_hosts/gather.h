// gather(): collects one value from every process in every process, and checks that all processes gather the
// same kind.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>

#include <type_traits>
#include <vector>

namespace rondo {

// Gathers `bytes` bytes at `mine` from every process into `all`, in process order. The caller holds
// call_mutex().
//
// Each process first sends one message of 128 bytes with the kind of the value, its size, and the value
// itself if it is small. If kinds or sizes differ, all processes return bad_argument, which names one that
// differs. No message is left over, so the group can still be used. Kinds are compared by their first 39
// characters.
Status gather_bytes(ProcessGroup& group, const void* mine, int64_t bytes, void* all, const std::string& what,
                    const std::string& kind);

// `what`: the purpose, for the error message. `kind`: must be the same in all processes; defaults to `what`.
template <class T>
Status gather(ProcessGroup& group, const T& mine, std::vector<T>& all, const std::string& what,
              const std::string& kind = "") {
  static_assert(std::is_trivially_copyable_v<T>);
  all.assign(group.size(), mine);
  return gather_bytes(group, &mine, sizeof(T), all.data(), what, kind.empty() ? what : kind);
}

}  // namespace rondo
