// An exercise: a common mistake in an all-reduce.
//
// The textbook all-reduce is four lines of Python over a list `data` with one gradient per device:
//
//     for i in range(1, len(data)):
//         data[0][:] += data[i].to(data[0].device)
//     for i in range(1, len(data)):
//         data[i][:] = data[0].to(data[i].device)
//
// Without `[:]`, `data[i] = ...` does not write to the memory of gradient i. It creates a new array and binds
// entry i of the *list* to it. The list then contains the right sums, but the optimizer, which uses the
// gradients themselves, reads the old values. No error is reported. The replicas take different steps and
// diverge from each other; training continues with slightly worse results than on one device.
//
// Below is the same mistake in C++. A view corresponds to a Python list entry: it refers to memory and does
// not own it.
//
// Questions.
//   1. Which line of rebinding_all_reduce() is wrong, and what must it be?
//   2. Why does the first check pass?
//   3. Why does a test that trains for one step and checks the loss pass, too? Which check of `rondo train`
//      would have detected the mistake after the first step?

#include <gtest/gtest.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/tests/support/compare.h>

#include <vector>

namespace rondo::test {
namespace {

std::vector<float> read(DataView view) {
  std::vector<float> values(static_cast<size_t>(view.size));
  RONDO_CUDA_THROW(
      cudaMemcpy(values.data(), view.data, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

// The wrong version creates these: a new array on the device of the entry that it replaces.
struct NewArrays {
  std::vector<Buffer<float>> made;
  DataView operator()(int device, const std::vector<float>& values) {
    const DeviceScope scope(device);
    made.emplace_back(values);
    return VectorView<float>{made.back().data(), made.back().size()};
  }
};

// Wrong on purpose; see the exercise above.
void rebinding_all_reduce(std::vector<DataView>& data, const std::vector<int>& devices,
                          NewArrays& new_array) {
  std::vector<float> sum = read(data[0]);
  for (size_t i = 1; i < data.size(); ++i) {
    const std::vector<float> other = read(data[i]);
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += other[k];
  }
  for (size_t i = 0; i < data.size(); ++i) data[i] = new_array(devices[i], sum);
}

class Rebinding : public testing::Test {
 protected:
  Rebinding() {
    for (int rank = 0; rank < 2; ++rank) {
      devices_.push_back(rank % device_count());
      const DeviceScope scope(devices_.back());
      parameters_.emplace_back(std::vector<float>{10, 10});
      gradients_.emplace_back(std::vector<float>{rank + 1.0f, 10 * (rank + 1.0f)});
      streams_.emplace_back();
      list_.push_back(VectorView<float>{gradients_.back().data(), 2});
    }
  }

  // One step of SGD on each replica, with the gradient that the replica holds.
  std::vector<std::vector<float>> parameters_after_a_step() {
    std::vector<std::vector<float>> all;
    for (size_t rank = 0; rank < devices_.size(); ++rank) {
      const DeviceScope scope(devices_[rank]);
      const Buffer<float> learning_rate(std::vector<float>{1});
      throw_if_error(sgd_update({parameters_[rank].data(), 2}, {}, {gradients_[rank].data(), 2},
                                learning_rate.data(), {}, streams_[rank]));
      streams_[rank].synchronize();
      all.push_back(parameters_[rank].download());
    }
    return all;
  }

  std::vector<int> devices_;
  std::vector<Buffer<float>> parameters_, gradients_;
  std::vector<Stream> streams_;
  std::vector<DataView> list_;
};

TEST_F(Rebinding, LooksRightThroughTheListAndLeavesTheGradientsAlone) {
  NewArrays new_array;
  rebinding_all_reduce(list_, devices_, new_array);
  for (const DataView& entry : list_)
    EXPECT_TRUE(all_near(read(entry), {3, 30}, 0)) << "the list looks right";

  EXPECT_TRUE(all_near(gradients_[0].download(), {1, 10}, 0)) << "and the gradients are what they were";
  EXPECT_TRUE(all_near(gradients_[1].download(), {2, 20}, 0));
  const auto parameters = parameters_after_a_step();
  show("parameters of the replicas: ", parameters[0][0], " and ", parameters[1][0], " instead of 7");
  EXPECT_NE(parameters[0], parameters[1]) << "so that the replicas drift apart";
}

TEST_F(Rebinding, WritingBackKeepsTheReplicasEqual) {
  Communicator communicator(devices_);
  const cudaStream_t streams[] = {streams_[0], streams_[1]};
  throw_if_error(all_reduce(list_, {.algorithm = Algorithm::root}, communicator, streams));
  throw_if_error(communicator.wait(streams, std::chrono::seconds(10)));
  const auto parameters = parameters_after_a_step();
  EXPECT_TRUE(all_near(parameters[0], {7, -20}, 0));
  EXPECT_EQ(parameters[0], parameters[1]);
}

}  // namespace
}  // namespace rondo::test
