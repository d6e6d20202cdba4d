// Copies from global to shared memory by all threads of a group, complete after wait(). Each thread issues
// cp.async for a part of them, so the race detector and SIMT_LATE_COPIES see a missing wait.
#pragma once

#include <cooperative_groups.h>
#include <simt/async_copy.h>

namespace cooperative_groups {
namespace detail {

template <int Bytes, class Group>
void copy_async(const Group& group, char* to, const char* from, size_t bytes) {
  const auto threads = static_cast<size_t>(group.size());
  size_t at = group.thread_rank() * size_t{Bytes};
  for (; at + Bytes <= bytes; at += threads * Bytes) simt::async_copy<Bytes>(to + at, from + at);
  for (size_t i = bytes / Bytes * Bytes + group.thread_rank(); i < bytes; i += threads) to[i] = from[i];
}

}  // namespace detail

template <class Group, class To, class From>
void memcpy_async(const Group& group, To* to, const From* from, size_t bytes) {
  auto* const begin = reinterpret_cast<char*>(to);
  const auto* const source = reinterpret_cast<const char*>(from);
  const auto addresses = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (addresses % 16 == 0)
    detail::copy_async<16>(group, begin, source, bytes);
  else if (addresses % 8 == 0)
    detail::copy_async<8>(group, begin, source, bytes);
  else if (addresses % 4 == 0)
    detail::copy_async<4>(group, begin, source, bytes);
  else  // no cp.async copies single bytes
    for (size_t i = group.thread_rank(); i < bytes; i += group.size()) begin[i] = source[i];
  simt::async_commit();
}
// Of elements; as many as both sides have.
template <class Group, class To, class From>
void memcpy_async(const Group& group, To* to, size_t to_count, const From* from, size_t from_count) {
  const size_t to_bytes = to_count * sizeof(To), from_bytes = from_count * sizeof(From);
  memcpy_async(group, to, from, to_bytes < from_bytes ? to_bytes : from_bytes);
}

// Waits until at most `Stages` of the newest copies are pending, and for the group.
template <unsigned Stages, class Group>
void wait_prior(const Group& group, simt::Place place = simt::Place::current()) {
  simt::async_wait(Stages);
  group.sync(place);
}
template <class Group>
void wait(const Group& group, simt::Place place = simt::Place::current()) {
  wait_prior<0>(group, place);
}

}  // namespace cooperative_groups
