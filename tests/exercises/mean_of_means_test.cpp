// An exercise: the mean of the shards' means.
//
// Each rank computes the mean gradient of its shard, and the all-reduce averages over the ranks. This is the
// mean over the batch only if all shards have the same size. Otherwise a sample of a small shard has more
// weight than a sample of a large one.
//
// Questions.
//   1. Which batches of an epoch have shards of different sizes?
//   2. What would the wrong version do with an empty shard?
//   3. Why do the replicas stay equal, so that comparing them does not detect the mistake?

#include <gtest/gtest.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/exercises/support.h>

#include <numeric>
#include <vector>

namespace rondo::test {
namespace {

using Gradients = std::vector<float>;  // of the samples, one number each

class MeanOfMeans : public testing::Test {
 protected:
  MeanOfMeans() {
    for (int rank = 0; rank < 2; ++rank) {
      devices_.push_back(rank % device_count());
      const DeviceScope scope(devices_.back());
      streams_.emplace_back();
    }
  }

  // The parameter of every rank after one step of SGD from 10 with learning rate 1. `of_rank` has the number
  // that a rank contributes to the all-reduce.
  std::vector<float> step(const std::vector<float>& of_rank, Reduction reduction, float scale) {
    std::vector<Buffer<float>> parameters, gradients;
    std::vector<DataView> views;
    for (size_t rank = 0; rank < of_rank.size(); ++rank) {
      const DeviceScope scope(devices_[rank]);
      parameters.emplace_back(std::vector<float>{10});
      gradients.emplace_back(std::vector<float>{of_rank[rank]});
      views.push_back(VectorView<float>{gradients[rank].data(), 1});
    }
    Communicator communicator(devices_);
    const cudaStream_t streams[] = {streams_[0], streams_[1]};
    throw_if_error(all_reduce(views, {.reduction = reduction}, communicator, streams));
    throw_if_error(communicator.wait(streams, std::chrono::seconds(10)));
    std::vector<float> after;
    for (size_t rank = 0; rank < of_rank.size(); ++rank) {
      const DeviceScope scope(devices_[rank]);
      const Buffer<float> learning_rate(std::vector<float>{1});
      throw_if_error(sgd_update({parameters[rank].data(), 1}, {}, {gradients[rank].data(), 1},
                                learning_rate.data(), {.scale = scale}, streams_[rank]));
      streams_[rank].synchronize();
      after.push_back(parameters[rank].download().front());
    }
    return after;
  }

  static float sum(const Gradients& samples) { return std::accumulate(samples.begin(), samples.end(), 0.0f); }
  static float mean(const Gradients& samples) { return sum(samples) / static_cast<float>(samples.size()); }

  // Wrong on purpose: each rank divides by the size of its shard, and the all-reduce by the number of ranks.
  std::vector<float> averaging_step(const Gradients& shard0, const Gradients& shard1) {
    return step({mean(shard0), mean(shard1)}, Reduction::average, 1);
  }
  // Sums are added over the ranks and divided once, by the size of the batch.
  std::vector<float> summing_step(const Gradients& shard0, const Gradients& shard1) {
    return step({sum(shard0), sum(shard1)}, Reduction::sum,
                1 / static_cast<float>(shard0.size() + shard1.size()));
  }

  std::vector<int> devices_;
  std::vector<Stream> streams_;
};

TEST_F(MeanOfMeans, IsWrongOnShardsOfDifferentSizes) {
  const std::vector<float> parameters = averaging_step({1, 2, 3}, {8, 8});
  show("mean gradient ", 10 - parameters[0], " instead of ", mean({1, 2, 3, 8, 8}));
  EXPECT_EQ(parameters[0], 10 - 5.0f) << "the mean of 2 and 8";
  EXPECT_EQ(parameters[1], parameters[0]) << "the replicas are equal";
}

TEST_F(MeanOfMeans, IsRightOnShardsOfOneSize) {
  EXPECT_EQ(averaging_step({1, 2, 3}, {8, 8, 8})[0], 10 - mean({1, 2, 3, 8, 8, 8}));
}

TEST_F(MeanOfMeans, SumsDividedOnceAreRight) {
  for (const float parameter : summing_step({1, 2, 3}, {8, 8}))
    EXPECT_FLOAT_EQ(parameter, 10 - mean({1, 2, 3, 8, 8}));
  for (const float parameter : summing_step({1, 2, 3}, {})) EXPECT_FLOAT_EQ(parameter, 10 - 2.0f);
}

}  // namespace
}  // namespace rondo::test
