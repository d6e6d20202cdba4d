#include <gtest/gtest.h>

#include <rondo/kernels/reduce/count_differences.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/diagnostics/replica_check.h>

#include <cmath>

namespace rondo {
namespace {

struct Replicas {
  explicit Replicas(int64_t size) {
    std::vector<float> values;
    for (int64_t i = 0; i < size; ++i) values.push_back(static_cast<float>(i));
    for (int device : {0, 0, device_count() > 1 ? 1 : 0}) {
      DeviceScope scope(device);
      devices.push_back(device);
      buffers.emplace_back(values);
    }
  }
  std::vector<VectorView<const float>> views() {
    std::vector<VectorView<const float>> all;
    for (Buffer<float>& buffer : buffers) all.push_back({buffer.data(), buffer.size()});
    return all;
  }
  void change(int rank, int64_t index, float value) {
    auto host = buffers[static_cast<size_t>(rank)].download();
    host[static_cast<size_t>(index)] = value;
    buffers[static_cast<size_t>(rank)].upload(host);
  }
  std::vector<int> devices;
  std::vector<Buffer<float>> buffers;
};

TEST(ReplicaCheck, CountsEveryValueThatDiffersInAnyReplica) {
  Replicas replicas(5003);
  StreamGroup group(replicas.devices);
  ReplicaCheck check(group, replicas.views());
  check.enqueue();
  EXPECT_EQ(check.differences(), 0);
  replicas.change(2, 5002, 5002.001f);
  check.enqueue();
  EXPECT_EQ(check.differences(), 1);
  replicas.change(1, 0, -0.0f);  // the same number, but other bits
  check.enqueue();
  EXPECT_EQ(check.differences(), 3);
}

TEST(ReplicaCheck, EqualNaNsAreEqual) {
  Replicas replicas(10);
  StreamGroup group(replicas.devices);
  ReplicaCheck check(group, replicas.views());
  for (int rank = 0; rank < 3; ++rank) replicas.change(rank, 4, std::nanf(""));
  check.enqueue();
  EXPECT_EQ(check.differences(), 0);
}

TEST(CountDifferences, RefusesBadArguments) {
  Buffer<float> a(8);
  Buffer<unsigned long long> count(1);
  Stream stream;
  const VectorView<const float> eight{a.data(), 8}, seven{a.data(), 7}, null{nullptr, 8};
  const VectorView<unsigned long long> one{count.data(), 1};
  EXPECT_EQ(count_differences(one, eight, seven, stream).code(), StatusCode::bad_argument);
  EXPECT_EQ(count_differences(one, eight, null, stream).code(), StatusCode::bad_argument);
  EXPECT_EQ(count_differences(one, {nullptr, -1}, {nullptr, -1}, stream).code(), StatusCode::bad_argument);
  EXPECT_EQ(count_differences({nullptr, 1}, eight, eight, stream).code(), StatusCode::bad_argument);
  EXPECT_EQ(count_differences({count.data(), 2}, eight, eight, stream).code(), StatusCode::bad_argument);
  EXPECT_TRUE(count_differences(one, {}, {}, stream).ok());
}

}  // namespace
}  // namespace rondo
