// The messages of an all-reduce across processes: full slots of misaligned data, and as many processes as
// do not divide a slot. One process is real.
#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/support/test_process.h>

#include <cstring>

namespace rondo::test {
namespace {

// Every element of `process`, on each of its ranks.
int value_of(int process) { return process + 1; }

// The other processes have values of their own, and everything else in common with this one. `Partial`: the
// type of partial sums; T: that of the data.
template <class T, class Partial>
class UniformProcesses : public TestProcess {
 public:
  UniformProcesses(int size, int index, int ranks, T result)
      : TestProcess(size, index), ranks_(ranks), result_(result) {}

  Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                  const std::string& what) override {
    if (tag == 0) {  // of gather()
      for (size_t i = 0; i < receives.size(); ++i)
        std::memcpy(receives[i].data, sends[i].data, static_cast<size_t>(sends[i].bytes));
      return {};
    }
    expect_disjoint(sends, receives, what);
    for (const Message& message : receives)
      if (what.ends_with("partial sums"))
        fill(message, static_cast<Partial>(static_cast<float>(ranks_ * value_of(message.process))));
      else
        fill(message, result_);
    return {};
  }

 private:
  template <class Value>
  static void fill(const Message& message, Value value) {
    ASSERT_EQ(message.bytes % static_cast<int64_t>(sizeof(Value)), 0);
    for (size_t at = 0; at < static_cast<size_t>(message.bytes); at += sizeof(Value))
      std::memcpy(static_cast<std::byte*>(message.data) + at, &value, sizeof(Value));
  }
  // A slice is sent to several processes. All other messages have memory of their own.
  static void expect_disjoint(std::span<const Message> sends, std::span<const Message> receives,
                              const std::string& what) {
    struct Range {
      const std::byte *begin, *end;
      bool sent;
      bool operator==(const Range&) const = default;
    };
    std::vector<Range> ranges;
    for (const auto& messages : {sends, receives})
      for (const Message& message : messages) {
        const auto* const begin = static_cast<const std::byte*>(message.data);
        ranges.push_back({begin, begin + message.bytes, messages.data() == sends.data()});
      }
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i].sent && ranges[i] == ranges[i - 1]) continue;
      EXPECT_LE(ranges[i - 1].end, ranges[i].begin) << what << ", message " << i << " by address";
    }
  }

  int ranks_;
  T result_;
};

template <class T, class Partial>
void expect_right(Reduction reduction, int processes, int index, int64_t slot_bytes,
                  const std::vector<int64_t>& offsets) {
  constexpr int kRanks = 2;
  int sum = 0;
  for (int process = 0; process < processes; ++process) sum += kRanks * value_of(process);
  const int result = reduction == Reduction::average ? sum / (kRanks * processes) : sum;
  const auto as_element = [](int value) { return static_cast<T>(static_cast<float>(value)); };
  UniformProcesses<T, Partial> group(processes, index, kRanks, as_element(result));
  CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 0};
  options.processes = &group;
  CommunicatorFixture fixture(place(kRanks, Placement::spread), options);
  const int64_t size = 5 * slot_bytes / static_cast<int64_t>(sizeof(T));  // several full segments a rank
  const auto all_of = [&](T value) {
    return std::vector<std::vector<T>>(kRanks, std::vector<T>(static_cast<size_t>(size), value));
  };
  TypedVectors<T> data(fixture.devices, size, [&](int rank) { return offsets.at(rank); });
  data.upload(all_of(as_element(value_of(index))));
  ASSERT_TRUE(ok(all_reduce(data.views(), {.reduction = reduction, .algorithm = Algorithm::hierarchical},
                            fixture.communicator, fixture.handles)));
  fixture.synchronize();
  const std::vector<T> want = all_of(as_element(result))[0];
  for (size_t rank = 0; rank < kRanks; ++rank)
    EXPECT_TRUE(all_equal_bits(data.download(rank), want)) << "rank " << rank;
}

// The average of bytes needs most: its partial sums are four times as long as the data.
TEST(HierarchicalMessages, HaveMemoryOfTheirOwn) {
  for (const int processes : {3, 2, 5, 7})
    for (const int index : {0, 1, processes - 1})
      for (const int64_t slot_bytes : {1024, 4032})
        for (const std::vector<int64_t>& offsets : {std::vector<int64_t>{0, 0}, {1, 7}, {15, 0}, {0, 15}}) {
          SCOPED_TRACE(concat("process ", index, " of ", processes, ", slots of ", slot_bytes,
                              " bytes, offsets ", offsets[0], " and ", offsets[1]));
          expect_right<uint8_t, int32_t>(Reduction::average, processes, index, slot_bytes, offsets);
          expect_right<double, double>(Reduction::sum, processes, index, slot_bytes, offsets);
          expect_right<__nv_bfloat16, float>(Reduction::sum, processes, index, slot_bytes, offsets);
          if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace rondo::test
