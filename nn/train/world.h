// World: all ranks that train together, over all processes.
#pragma once

#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/kernels/loss/cross_entropy.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rondo::nn {

// This process has the ranks first() ... first() + local() - 1 of size(); all processes have the same number.
// All processes must make the same calls in the same order. Each call waits for all processes; with one
// process there is no waiting.
class World {
 public:
  // `processes` may be null: one process. Here and below, throws bad_argument Errors that begin with `what`.
  World(const char* what, int local, ProcessGroup* processes);

  int local() const { return local_; }
  int size() const { return local_ * process_count(); }
  int first() const { return local_ * process_index(); }
  ProcessGroup* processes() const { return processes_; }
  int process_count() const { return processes_ ? processes_->size() : 1; }
  int process_index() const { return processes_ ? processes_->index() : 0; }

  // Returns `own` of every process, in process order.
  template <class T>
  std::vector<T> gather(const T& own, const std::string& what) const {
    if (!processes_) return {own};
    const std::lock_guard lock(processes_->call_mutex());
    std::vector<T> all;
    throw_if_error(rondo::gather(*processes_, own, all, concat(what_, ": ", what)));
    return all;
  }

  // Throws a bad_argument Error in every process if `own` of any process differs from that of process 0.
  void check_same(const std::string& what, const std::string& own) const;

  // Sums over all ranks in rank order, so that the result equals that of one process with as many ranks.
  LossStats sum(std::span<const LossStats> of_local_ranks) const;
  // Sums one number per process.
  int64_t sum(int64_t own, const std::string& what) const;

  // Overwrites `bytes` with those of process 0.
  void copy_from_first(std::span<std::byte> bytes, const std::string& what) const;

 private:
  std::vector<std::string> gather_texts(const std::string& own, const std::string& what) const;

  const char* what_;
  int local_;
  ProcessGroup* processes_;
};

}  // namespace rondo::nn
