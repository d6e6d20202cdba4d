// CommunicatorFixture: ranks on devices with their streams, for the tests of collectives. documented_sum(): a
// plain loop that sums in the order that all_reduce() documents.
#pragma once

#include <gtest/gtest.h>

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/rank_resources.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/collectives/vectors.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace rondo {

// In namespace rondo, where argument-dependent lookup finds it.
inline std::ostream& operator<<(std::ostream& out, Algorithm algorithm) { return out << name_of(algorithm); }

}  // namespace rondo

namespace rondo::test {

// spread: round robin over all devices. together: all on device 0. pairs: two consecutive ranks share a
// device.
enum class Placement { spread, together, pairs };

inline std::ostream& operator<<(std::ostream& out, Placement placement) {
  constexpr const char* kNames[] = {"spread", "together", "pairs"};
  return out << kNames[static_cast<int>(placement)];
}

inline std::vector<int> place(int ranks, Placement placement) {
  throw_if_error(request_devices(1));
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank)
    devices.push_back(placement == Placement::together ? 0
                      : placement == Placement::pairs  ? rank / 2 % device_count()
                                                       : rank % device_count());
  return devices;
}

// A communicator and one stream per rank. The scratch memory starts as NaN, so that reading unsent data is
// detected.
struct CommunicatorFixture {
  explicit CommunicatorFixture(std::vector<int> rank_devices, CommunicatorOptions options = small_options())
      : devices(std::move(rank_devices)), communicator(devices, options) {
    for (int device : devices) {
      DeviceScope scope(device);
      handles.push_back(streams.emplace_back());
    }
    poison_scratch();
  }
  CommunicatorFixture(std::vector<int> rank_devices, int64_t slot_bytes)
      : CommunicatorFixture(std::move(rank_devices),
                            CommunicatorOptions{.slot_bytes = slot_bytes, .bucket_bytes = 0}) {}

  static CommunicatorOptions small_options() { return {.slot_bytes = 64 << 10, .bucket_bytes = 64 << 10}; }

  void poison_scratch() {
    for (int rank = 0; rank < communicator.size(); ++rank) {
      DeviceScope scope(communicator.device(rank));
      communicator.resources().of(rank).scratch.fill_bytes(0xFF);
    }
  }
  void synchronize() const {
    for (const Stream& stream : streams) stream.synchronize();
  }

  std::vector<int> devices;
  Communicator communicator;
  std::vector<Stream> streams;
  std::vector<cudaStream_t> handles;
};

// For calls that make or launch a graph. CUDA does not document whether copies between devices without peer
// access work inside one.
#define SUCCEEDS_OR_SKIP_WITHOUT_PEER_ACCESS(call, communicator)                                 \
  if (const cudaError_t error = (call); error != cudaSuccess && !(communicator).all_reach_all()) \
    GTEST_SKIP() << "without peer access, " #call ": " << cudaGetErrorName(error);               \
  else                                                                                           \
    ASSERT_EQ(error, cudaSuccess)

inline std::vector<std::vector<float>> exact_inputs(int ranks, int64_t size, uint64_t seed) {
  std::vector<std::vector<float>> values;
  for (int rank = 0; rank < ranks; ++rank)
    values.push_back(exact_values(size, seed * 1000 + static_cast<uint64_t>(rank)));
  return values;
}
inline std::vector<std::vector<float>> normal_inputs(int ranks, int64_t size, uint64_t seed) {
  std::vector<std::vector<float>> values;
  for (int rank = 0; rank < ranks; ++rank)
    values.push_back(normal_values(size, seed * 1000 + static_cast<uint64_t>(rank)));
  return values;
}

// inputs[first] + inputs[first + 1] + ... around the ring, from left to right in fp32.
inline float sum_from(const std::vector<std::vector<float>>& inputs, size_t first, size_t element) {
  float sum = inputs[first][element];
  for (size_t k = 1; k < inputs.size(); ++k) sum += inputs[(first + k) % inputs.size()][element];
  return sum;
}

// The documented bits of a sum by all_reduce(). Does not use ring_schedule.h.
inline std::vector<float> documented_sum(const std::vector<std::vector<float>>& inputs, Algorithm algorithm) {
  const auto ranks = static_cast<int64_t>(inputs.size());
  const auto size = static_cast<int64_t>(inputs[0].size());
  int64_t chunk_size = (size + ranks - 1) / ranks;
  while (chunk_size % 4 != 0) ++chunk_size;
  std::vector<float> sum(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i)
    sum[static_cast<size_t>(i)] =
        sum_from(inputs, algorithm == Algorithm::ring ? static_cast<size_t>(i / chunk_size) : 0,
                 static_cast<size_t>(i));
  return sum;
}

// all_reduce() with sum, by `algorithm`.
inline Status sum_by(Algorithm algorithm, CommunicatorFixture& fixture, const RankVectors& outputs,
                     const RankVectors& inputs) {
  return all_reduce(outputs.views(), inputs.const_views(), {.algorithm = algorithm}, fixture.communicator,
                    fixture.handles);
}
inline Status sum_by(Algorithm algorithm, CommunicatorFixture& fixture, const RankVectors& data) {
  return all_reduce(data.views(), {.algorithm = algorithm}, fixture.communicator, fixture.handles);
}

}  // namespace rondo::test
