// Findings: the list of what the race detector has found, and the text of each.
#pragma once

#include <simt/check.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace simt {

// Why two accesses of a race are not ordered.
enum class Relation : uint8_t { same_warp, same_block, same_cluster, other_block, other_operation };

// "file:line (function)" of an instruction, and where it was inlined, from source_lines().
std::string text_of(const std::vector<SourceLine>& lines);

// One place for all instructions of a source line, such as those of an unrolled loop.
class SameLines {
 public:
  const void* first_place(const void* place);

 private:
  std::unordered_map<const void*, const void*> known_;
  std::map<std::vector<std::pair<std::string, int>>, const void*> by_lines_;
};

class Findings {
 public:
  // Identifies a finding. The same mistake of other threads or at other addresses is the same finding.
  struct Key {
    Problem problem;
    AccessSpace space;
    const void *first, *second;  // places of SameLines, or names of operations that are not kernels
    auto operator<=>(const Key&) const = default;
  };

  explicit Findings(bool print) : print_(print) {}

  // Counts a finding. Describes it by make(), unless it is known.
  template <class Make>
  void add(const Key& key, Make make) {
    const auto [entry, fresh] = by_key_.try_emplace(key);
    ++entry->second.times;
    if (!fresh) return;
    entry->second.finding = make();
    if (key.problem == Problem::unwritten_read)
      waiting_.push_back(key);
    else
      publish(entry->second);
  }

  // A read of unwritten memory waits, because it may turn out as a read that comes too early: one that races
  // with the write. That is the one mistake then.
  void comes_too_early(AccessSpace space, const void* place) {
    by_key_[{Problem::unwritten_read, space, nullptr, place}].explained = true;
  }
  // No further access can explain the waiting findings in this memory.
  void publish_unwritten(AccessSpace space);

  std::vector<Finding> all() const;

 private:
  struct Entry {
    Finding finding;
    uint64_t times = 0;
    bool explained = false;
  };
  void publish(Entry& entry);

  const bool print_;
  std::map<Key, Entry> by_key_;
  std::vector<Key> waiting_;
  std::vector<const Entry*> published_;
};

// The text of a finding, of several lines. `memory` names the memory: "shared memory".
std::string text(const Finding& finding, const std::string& memory, Relation relation);

}  // namespace simt
