// Helpers for the tests of enqueued work: an operation and the caller's surrounding work, simulated in a
// model of streams and memory (stream_model.h), and the configurations in which they run.
#pragma once

#include <rondo/tests/collectives/algorithms/stream_model.h>
#include <rondo/tests/collectives/settings.h>

#include <rondo/tests/support/peer_links.h>

namespace rondo::test {

inline std::vector<Term> shares_of(Terms& terms, int rank, int64_t size) {
  std::vector<Term> shares;
  for (int64_t i = 0; i < size; ++i) shares.push_back(terms.share(rank, i));
  return shares;
}

// The sum of the ranks' shares of `element`, added in the order of `ranks`.
inline Term sum_along(Terms& terms, const std::vector<int>& ranks, int64_t element) {
  Term sum = terms.share(ranks[0], element);
  for (size_t k = 1; k < ranks.size(); ++k) sum = terms.sum(sum, terms.share(ranks[k], element));
  return terms.finished(sum);
}

inline std::vector<int> in_order(int ranks) {
  std::vector<int> order(static_cast<size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Simulates one operation and the caller's surrounding work. before(): each stream writes its rank's input
// and poisons its output. after(): each stream checks the output and poisons both. Each object has its own
// streams.
class ModelRun {
 public:
  ModelRun(CommunicatorFixture& fixture, StreamModel& model, DType dtype, int64_t inputs, int64_t outputs,
           bool in_place)
      : model_(model) {
    for (size_t rank = 0; rank < fixture.devices.size(); ++rank) {
      DeviceScope scope(fixture.devices[rank]);
      streams_.emplace_back();
      handles.push_back(streams_.back());
      const int64_t bytes = (std::max(inputs, outputs) + 4) * size_of(dtype);
      memory_.emplace_back(2 * bytes);
      input.push_back({memory_.back().data() + size_of(dtype), inputs, dtype});
      output.push_back({memory_.back().data() + (in_place ? size_of(dtype) : bytes), outputs, dtype});
    }
  }
  void before() {
    for (size_t rank = 0; rank < input.size(); ++rank) {
      poison(rank, output[rank]);
      model_.write(handles[rank], input[rank],
                   shares_of(model_.terms(), static_cast<int>(rank), input[rank].size));
    }
  }
  // want(rank, element) is the expected term.
  template <class Want>
  void after(Want want) {
    for (size_t rank = 0; rank < input.size(); ++rank) {
      const std::vector<Term> found = model_.read(handles[rank], output[rank]);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], want(static_cast<int>(rank), static_cast<int64_t>(i)))
            << "element " << i << " of rank " << rank;
      poison(rank, output[rank]);
      poison(rank, input[rank]);
    }
    for (const std::string& problem : model_.problems()) ADD_FAILURE() << problem;
  }
  std::vector<ConstDataView> inputs() const { return {input.begin(), input.end()}; }

  std::vector<cudaStream_t> handles;
  std::vector<DataView> input, output;

 private:
  void poison(size_t rank, DataView vector) {
    model_.write(handles[rank], vector, std::vector<Term>(static_cast<size_t>(vector.size), 0));
  }

  StreamModel& model_;
  std::vector<Stream> streams_;
  std::vector<Buffer<std::byte>> memory_;
};

// Whether kernels have peer access to other devices; it changes the direct algorithms.
enum class Reach { all, none };

class PeerLinks {
 public:
  explicit PeerLinks(Reach reach) : reach_(reach) { set(reach == Reach::none, simt::PeerAccess::absent); }
  ~PeerLinks() { set(reach_ == Reach::none, simt::PeerAccess::works); }

 private:
  static void set(bool any, simt::PeerAccess access) {
    if (any) set_all_links(access);
  }
  Reach reach_;
};

// Calls test(fixture, algorithm) for ring, and for the other algorithms with and without peer access.
template <class Test>
void for_setups(std::initializer_list<int> ranks, std::initializer_list<Algorithm> algorithms, Test test) {
  for (const Reach reach : {Reach::all, Reach::none}) {
    const PeerLinks links(reach);
    for (const Algorithm algorithm : algorithms)
      for (const int n : ranks)
        for (const int64_t slot_bytes : {64, 256}) {
          // Ranks of one device reach each other.
          if (reach == Reach::none && (algorithm == Algorithm::ring || device_count() == 1)) continue;
          SCOPED_TRACE(concat(algorithm, ", ", n, " ranks, slots of ", slot_bytes,
                              reach == Reach::none ? ", no access to peers" : ""));
          CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 256};
          if (slot_bytes > 64) options.ring_order = shuffled_ring(n);
          CommunicatorFixture fixture(place(n, Placement::spread), options);
          ASSERT_EQ(fixture.communicator.all_reach_all(), n == 1 || reach == Reach::all);
          test(fixture, algorithm);
          if (testing::Test::HasFailure()) return;
        }
  }
}

inline std::vector<int> ring_of(const CommunicatorFixture& fixture) {
  return fixture.communicator.options().ring_order;
}
inline std::vector<int> around(const std::vector<int>& ring, int64_t position) {
  std::vector<int> ranks;
  for (size_t k = 0; k < ring.size(); ++k)
    ranks.push_back(ring[(static_cast<size_t>(position) + k) % ring.size()]);
  return ranks;
}
inline int64_t position_of(const std::vector<int>& ring, int rank) {
  return std::find(ring.begin(), ring.end(), rank) - ring.begin();
}

inline constexpr auto kReducers = {Algorithm::ring, Algorithm::direct, Algorithm::root};
inline constexpr auto kMovers = {Algorithm::ring, Algorithm::direct};

}  // namespace rondo::test
