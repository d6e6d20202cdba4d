#include <rondo/nn/train/world.h>

#include <rondo/collectives/types.h>
#include <rondo/kernels/core/counted.h>

#include <algorithm>

namespace rondo::nn {

World::World(const char* what, int local, ProcessGroup* processes)
    : what_(what), local_(local), processes_(processes) {
  if (local > kMaxRanks)
    throw Error(bad_argument(what_, ": ", there_are(local, "device"), ", must be at most ", kMaxRanks));
  const std::vector<int> ranks = gather(local, "comparing the numbers of ranks");
  for (size_t process = 1; process < ranks.size(); ++process)
    if (ranks[process] != ranks[0])
      throw Error(bad_argument(what_, ": ", there_are(ranks[process], "device"), " in ",
                               processes_->name(static_cast<int>(process)), " and ", ranks[0], " in ",
                               processes_->name(0), ", must be as many in all processes"));
}

void World::check_same(const std::string& what, const std::string& own) const {
  if (!processes_) return;
  const std::vector<std::string> all = gather_texts(own, concat("comparing ", what));
  for (size_t process = 1; process < all.size(); ++process)
    if (all[process] != all[0])
      throw Error(bad_argument(what_, ": ", what, " is ", all[process], " in ",
                               processes_->name(static_cast<int>(process)), " and ", all[0], " in ",
                               processes_->name(0), ", must be the same in all processes"));
}

// gather() is for values of one size, so a text is sent in pieces.
std::vector<std::string> World::gather_texts(const std::string& own, const std::string& what) const {
  constexpr size_t kPiece = 64;
  const std::vector<size_t> sizes = gather(own.size(), what);
  std::vector<std::string> all(sizes.size());
  for (size_t begin = 0; begin < std::ranges::max(sizes); begin += kPiece) {
    std::array<char, kPiece> piece = {};
    if (begin < own.size()) own.copy(piece.data(), kPiece, begin);
    const auto pieces = gather(piece, what);
    for (size_t process = 0; process < all.size(); ++process)
      if (begin < sizes[process])
        all[process].append(pieces[process].data(), std::min(kPiece, sizes[process] - begin));
  }
  return all;
}

LossStats World::sum(std::span<const LossStats> of_local_ranks) const {
  std::array<LossStats, kMaxRanks> own;
  std::copy(of_local_ranks.begin(), of_local_ranks.end(), own.begin());
  LossStats total;
  for (const auto& loss_stats : gather(own, "adding up the loss"))
    for (size_t rank = 0; rank < of_local_ranks.size(); ++rank) total += loss_stats[rank];
  return total;
}

int64_t World::sum(int64_t own, const std::string& what) const {
  int64_t total = 0;
  for (const int64_t one : gather(own, what)) total += one;
  return total;
}

void World::copy_from_first(std::span<std::byte> bytes, const std::string& what) const {
  if (!processes_) return;
  constexpr size_t kMostBytes = size_t{1} << 30;  // MPI counts are int
  const std::lock_guard lock(processes_->call_mutex());
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kMostBytes))) {
    const auto size = static_cast<int64_t>(std::min(bytes.size(), kMostBytes));
    std::vector<ProcessGroup::Message> sends, receives;
    if (process_index() > 0) receives.push_back({0, bytes.data(), size});
    for (int process = 1; process_index() == 0 && process < process_count(); ++process)
      sends.push_back({process, bytes.data(), size});
    throw_if_error(processes_->exchange(sends, receives, processes_->next_tag(), concat(what_, ": ", what)));
  }
}

}  // namespace rondo::nn
