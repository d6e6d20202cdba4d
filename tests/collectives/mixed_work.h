// MixedWork: one call of every operation, with all algorithms and several types, and the expected results.
#pragma once

#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/exact_data.h>

namespace rondo::test {

class MixedWork {
 public:
  // `fixture` needs a bucket. Operations with blocks use vectors of n * block elements.
  explicit MixedWork(CommunicatorFixture& fixture, int64_t block = 37)
      : communicator_(fixture.communicator),
        ranks_(fixture.communicator.size()),
        block_(block),
        by_ring_(fixture.devices, ranks_ * block),
        direct_(fixture.devices, ranks_ * block, 1),
        by_root_(fixture.devices, block, 3),
        grouped_(fixture.devices, ranks_ * block, 2),
        scattered_from_(fixture.devices, ranks_ * block, 1),
        scattered_(fixture.devices, block, 2),
        gathered_(fixture.devices, ranks_ * block),
        sent_(fixture.devices, block),
        averaged_(fixture.devices, block, 5),
        exchanged_from_(fixture.devices, ranks_ * block, 3),
        exchanged_(fixture.devices, ranks_ * block) {}

  // Uploads new inputs. Waits for the copies.
  void upload(uint64_t seed) {
    float_ = exact_data<float>(Reduction::sum, ranks_, ranks_ * block_, seed);
    short_ = exact_data<float>(Reduction::sum, ranks_, block_, seed);
    int_ = exact_data<int32_t>(Reduction::sum, ranks_, ranks_ * block_, seed);
    average_ = exact_data<__nv_bfloat16>(Reduction::average, ranks_, block_, seed);
    for (auto* vectors : {&by_ring_, &direct_, &grouped_}) vectors->upload(float_.inputs);
    by_root_.upload(short_.inputs);
    scattered_from_.upload(int_.inputs);
    averaged_.upload(average_.inputs);
    exchanged_from_.upload(int_.inputs);
    sent_.upload(short_.inputs);
  }

  // Enqueues all operations in sequence. scattered_from_ is reduced into scattered_ and gathered from there;
  // sent_ is broadcast from rank 1 (the last rank if there is only one).
  Status enqueue(const std::vector<cudaStream_t>& streams) {
    const auto reduced = [&](const std::vector<DataView>& views, Algorithm algorithm) {
      return all_reduce(views, {.algorithm = algorithm}, communicator_, streams);
    };
    RONDO_RETURN_IF_ERROR(reduced(by_ring_.views(), Algorithm::ring));
    RONDO_RETURN_IF_ERROR(reduced(direct_.views(), Algorithm::direct));
    RONDO_RETURN_IF_ERROR(reduce_scatter(scattered_.views(), scattered_from_.const_views(),
                                         {.algorithm = Algorithm::ring}, communicator_, streams));
    RONDO_RETURN_IF_ERROR(
        all_gather(gathered_.views(), scattered_.const_views(), Algorithm::ring, communicator_, streams));
    RONDO_RETURN_IF_ERROR(barrier(communicator_, streams));
    RONDO_RETURN_IF_ERROR(
        broadcast(sent_.views(), sent_.view(root()), root(), Algorithm::ring, communicator_, streams));
    RONDO_RETURN_IF_ERROR(reduced(by_root_.views(), Algorithm::root));
    RONDO_RETURN_IF_ERROR(reduce(averaged_.view(root()), averaged_.const_views(), root(),
                                 {.reduction = Reduction::average, .algorithm = Algorithm::ring},
                                 communicator_, streams));
    RONDO_RETURN_IF_ERROR(
        all_to_all(exchanged_.views(), exchanged_from_.const_views(), communicator_, streams));
    return all_reduce_coalesced(parts_of(grouped_), {.algorithm = Algorithm::hierarchical}, communicator_,
                                streams);
  }

  // Checks the results. The streams must be idle.
  testing::AssertionResult right() const {
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto r = static_cast<size_t>(rank);
      const auto fail = [rank](const char* what, const testing::AssertionResult& why) {
        return testing::AssertionFailure() << what << ", rank " << rank << ": " << why.message();
      };
      if (auto ok = all_equal_bits(by_ring_.download(r), float_.want); !ok)
        return fail("all_reduce by ring", ok);
      if (auto ok = all_equal_bits(direct_.download(r), float_.want); !ok)
        return fail("all_reduce, direct", ok);
      if (auto ok = all_equal_bits(by_root_.download(r), short_.want); !ok)
        return fail("all_reduce by root", ok);
      if (auto ok = all_equal_bits(grouped_.download(r), float_.want); !ok)
        return fail("all_reduce_coalesced", ok);
      if (auto ok = all_equal_bits(gathered_.download(r), int_.want); !ok)
        return fail("reduce_scatter and all_gather", ok);
      if (auto ok = all_equal_bits(sent_.download(r), short_.inputs[static_cast<size_t>(root())]); !ok)
        return fail("broadcast", ok);
      if (rank == root())
        if (auto ok = all_equal_bits(averaged_.download(r), average_.want); !ok) return fail("reduce", ok);
      std::vector<int32_t> want;
      for (const std::vector<int32_t>& sender : int_.inputs)
        want.insert(want.end(), sender.begin() + rank * block_, sender.begin() + (rank + 1) * block_);
      if (auto ok = all_equal_bits(exchanged_.download(r), want); !ok) return fail("all_to_all", ok);
    }
    return testing::AssertionSuccess();
  }

 private:
  int root() const { return std::min(1, ranks_ - 1); }
  std::vector<std::vector<DataView>> parts_of(const RankVectors& vectors) const {
    std::vector<std::vector<DataView>> lists;
    const int64_t size = ranks_ * block_, cut = size / 3;
    for (const DataView& view : vectors.views())
      lists.push_back({view.part(0, cut), view.part(cut, 0), view.part(cut, size - cut)});
    return lists;
  }

  Communicator& communicator_;
  int ranks_;
  int64_t block_;
  RankVectors by_ring_, direct_, by_root_, grouped_;
  TypedVectors<int32_t> scattered_from_, scattered_, gathered_;
  RankVectors sent_;
  TypedVectors<__nv_bfloat16> averaged_;
  TypedVectors<int32_t> exchanged_from_, exchanged_;
  ExactData<float> float_, short_;
  ExactData<int32_t> int_;
  ExactData<__nv_bfloat16> average_;
};

// Options with which every call of MixedWork takes several segments and groups have two ranks.
inline CommunicatorOptions mixed_options(int ranks) {
  CommunicatorOptions options{.slot_bytes = 256, .bucket_bytes = 1024};
  if (ranks % 2 == 0) options.group_size = 2;
  return options;
}

}  // namespace rondo::test
