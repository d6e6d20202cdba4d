// The operations of a profile: its launches, copies and fills, and what the program orders among them. With
// the time of each on a GPU they give the time of the whole (rondo judge).
#pragma once

#include <simt/observe.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simt {

inline constexpr int kHostMemory = -1;

// Bytes that a kernel moves over a link.
struct LinkBytes {
  uint64_t read = 0, written = 0;
};

struct CountedOperation {
  std::optional<size_t> kernel;  // of a launch: its place in the profile; otherwise it is a copy or a fill
  int device = 0;                // of a launch
  // Of a launch: the distinct sectors of pinned memory of the host, and of memory of other devices, in bytes.
  LinkBytes host_link, peer_link;
  int from = kHostMemory, to = kHostMemory;  // devices, of a copy; a fill has both the same
  uint64_t bytes = 0;                        // of a copy or a fill
  // The operations that come before it by streams, events, graphs and waits of the host: their places in the
  // list. Those that follow from others are left out.
  std::vector<size_t> after;

  bool is_copy() const { return !kernel && from != to; }
  bool is_with_host() const { return !kernel && (from == kHostMemory || to == kHostMemory); }
};

inline constexpr size_t kMostCountedOperations = 4096;

struct ProgramProfile {
  std::vector<KernelProfile> kernels;
  std::vector<CountedOperation> operations;  // the first ones, in the order of their issue
  uint64_t uncounted_operations = 0;         // beyond kMostCountedOperations
};

// stop_profile(), with the operations.
ProgramProfile stop_program_profile();

// As JSON: an object with the names of ProgramProfile and its members.
std::string json(const ProgramProfile& profile);

}  // namespace simt
