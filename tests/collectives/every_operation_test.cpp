// Errors that every operation of collectives.h must return, tested for all operations. The first test reads
// the header and fails if an operation is missing from the list below.
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/fork_join.h>
#include <rondo/tests/support/failed_device.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <regex>
#include <set>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo::test {
namespace {

// The arguments of an operation.
struct Call {
  std::vector<DataView> outputs;
  std::vector<ConstDataView> inputs;
  ReduceOptions options;
  std::vector<cudaStream_t> streams;
};

struct Operation {
  const char* name;
  int64_t output_size, input_size;  // of each vector, in elements; -1: the operation has none
  bool takes_algorithm, takes_reduction, takes_streams;
  std::function<Status(const Call&, Communicator&)> run;
};

constexpr int kRanks = 3, kRoot = 1;
constexpr int64_t kBlock = 10;

std::vector<Operation> operations(int ranks = kRanks) {
  const int64_t whole = ranks * kBlock;
  return {
      {"all_reduce", whole, whole, true, true, true,
       [](const Call& c, Communicator& communicator) {
         return all_reduce(c.outputs, c.inputs, c.options, communicator, c.streams);
       }},
      {"all_reduce", whole, -1, true, true, true,
       [](const Call& c, Communicator& communicator) {
         return all_reduce(c.outputs, c.options, communicator, c.streams);
       }},
      {"all_reduce_coalesced", whole, -1, true, true, true,
       [](const Call& c, Communicator& communicator) {
         std::vector<std::vector<DataView>> lists;
         for (const DataView& view : c.outputs) lists.push_back({view});
         return all_reduce_coalesced(lists, c.options, communicator, c.streams);
       }},
      {"reduce_scatter", kBlock, whole, true, true, true,
       [](const Call& c, Communicator& communicator) {
         return reduce_scatter(c.outputs, c.inputs, c.options, communicator, c.streams);
       }},
      {"all_gather", whole, kBlock, true, false, true,
       [](const Call& c, Communicator& communicator) {
         return all_gather(c.outputs, c.inputs, c.options.algorithm, communicator, c.streams);
       }},
      {"broadcast", whole, whole, true, false, true,
       [](const Call& c, Communicator& communicator) {
         return broadcast(c.outputs, c.inputs[kRoot], kRoot, c.options.algorithm, communicator, c.streams);
       }},
      {"reduce", whole, whole, true, true, true,
       [](const Call& c, Communicator& communicator) {
         return reduce(c.outputs[kRoot], c.inputs, kRoot, c.options, communicator, c.streams);
       }},
      {"all_to_all", whole, whole, false, false, true,
       [](const Call& c, Communicator& communicator) {
         return all_to_all(c.outputs, c.inputs, communicator, c.streams);
       }},
      {"reduce_on_device", whole, whole, false, true, false,
       [](const Call& c, Communicator& communicator) {
         const DeviceScope scope(communicator.device(0));
         return reduce_on_device(c.outputs[0], {c.inputs.data(), 2}, c.options.reduction, c.options.order,
                                 c.streams[0]);
       }},
      {"barrier", -1, -1, false, false, true,
       [](const Call& c, Communicator& communicator) { return barrier(communicator, c.streams); }},
  };
}

class EveryOperation : public testing::Test {
 protected:
  Call call_of(const Operation& operation) const {
    Call call{out_.views(), in_.const_views(), {}, fixture_.handles};
    for (DataView& output : call.outputs) output.size = operation.output_size;
    for (ConstDataView& input : call.inputs) input.size = operation.input_size;
    return call;
  }
  // Runs the operation with a valid call that `change` has modified.
  template <class Change>
  Status changed(const Operation& operation, Change change) {
    Call call = call_of(operation);
    change(call);
    return operation.run(call, fixture_.communicator);
  }
  void expect_nothing_happened() {
    fixture_.synchronize();
    EXPECT_TRUE(ok(fixture_.communicator.state()));
    for (size_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(all_equal_bits(in_.download(rank), values_[rank]));
      EXPECT_TRUE(all_equal_bits(out_.download(rank), values_[rank]));
    }
  }

  CommunicatorFixture fixture_{
      place(kRanks, Placement::pairs)};  // ranks 0 and 1 on device 0, rank 2 on device 1
  std::vector<std::vector<float>> values_ = exact_inputs(kRanks, kRanks* kBlock, 3);
  RankVectors in_{fixture_.devices, values_}, out_{fixture_.devices, values_};
};

TEST_F(EveryOperation, IsListed) {
  std::ifstream header(COLLECTIVES_HEADER);
  const std::string text{std::istreambuf_iterator<char>(header), {}};
  const std::regex declaration(R"(\bStatus (\w+)\()");
  std::set<std::string> declared, listed;
  for (std::sregex_iterator match(text.begin(), text.end(), declaration), end; match != end; ++match)
    declared.insert((*match)[1]);
  for (const Operation& operation : operations()) listed.insert(operation.name);
  EXPECT_EQ(listed, declared);
}

// The unchanged calls succeed, so each error below has only the cause that its test names.
TEST_F(EveryOperation, AcceptsTheUnchangedCalls) {
  for (const Operation& operation : operations()) {
    SCOPED_TRACE(operation.name);
    EXPECT_TRUE(ok(changed(operation, [](Call&) {})));
    fixture_.synchronize();
  }
}

TEST_F(EveryOperation, RefusesEnumeratorsThatDoNotExist) {
  for (const Operation& operation : operations()) {
    SCOPED_TRACE(operation.name);
    const auto expect_refused = [&](auto change, const auto&... expected) {
      EXPECT_TRUE(refused(changed(operation, change), concat(operation.name, expected...)));
    };
    for (const int number : {77, 255, static_cast<int>(Algorithm::hierarchical) + 1}) {
      if (!operation.takes_algorithm) continue;
      expect_refused([&](Call& c) { c.options.algorithm = static_cast<Algorithm>(number); },
                     ": the algorithm is ", number, ", must be one of: automatic, ring, direct");
    }
    for (const int number : {77, 255, static_cast<int>(std::size(kReductions))}) {
      if (!operation.takes_reduction) continue;
      expect_refused([&](Call& c) { c.options.reduction = static_cast<Reduction>(number); },
                     ": the reduction is ", number, ", must be one of: sum, product");
    }
    for (const int number : {77, 255, 2}) {
      if (!operation.takes_reduction) continue;
      expect_refused([&](Call& c) { c.options.order = static_cast<SumOrder>(number); }, ": the order is ",
                     number, ", must be left_to_right or balanced_tree");
    }
    for (const int number : {77, 255, static_cast<int>(std::size(kDTypes))}) {
      if (operation.output_size < 0) continue;
      const auto dtype = static_cast<DType>(number);
      const std::string expected = concat("is of the type ", number, ", must be one of: float32, float64");
      const auto outputs = [&](Call& c) {
        for (DataView& view : c.outputs) view.dtype = dtype;
      };
      const auto inputs = [&](Call& c) {
        for (ConstDataView& view : c.inputs) view.dtype = dtype;
      };
      EXPECT_TRUE(refused(changed(operation, outputs), expected));
      if (operation.input_size < 0) continue;
      EXPECT_TRUE(refused(changed(operation, inputs), expected));
      EXPECT_TRUE(refused(changed(operation, [&](Call& c) { outputs(c), inputs(c); }), expected));
    }
  }
  expect_nothing_happened();
}

// Sizes whose number of bytes overflows 64 bits, or whose end overflows an address. All are multiples of 3.
TEST_F(EveryOperation, RefusesSizesWhoseBytesOverflow) {
  for (const Operation& operation : operations()) {
    if (operation.output_size < 0) continue;
    for (const DType dtype : kDTypes)
      for (const int64_t size :
           {int64_t{3} << 49, int64_t{3} << 60, int64_t{3} << 61, std::numeric_limits<int64_t>::max() - 1}) {
        SCOPED_TRACE(concat(operation.name, ", ", size, " elements of ", name_of(dtype)));
        const auto refusal = changed(operation, [&](Call& c) {
          for (DataView& view : c.outputs) view = {view.data, size, dtype};
          for (ConstDataView& view : c.inputs) view = {view.data, size, dtype};
        });
        EXPECT_EQ(refusal.code(), StatusCode::bad_argument) << refusal.message();
        EXPECT_NE(refusal.message().find(std::to_string(size)), std::string::npos) << refusal.message();
      }
  }
  expect_nothing_happened();
}

TEST_F(EveryOperation, RefusesNegativeSizes) {
  for (const Operation& operation : operations()) {
    if (operation.output_size < 0) continue;
    for (const int64_t size : {int64_t{-3}, std::numeric_limits<int64_t>::min() + 2}) {  // multiples of 3
      SCOPED_TRACE(concat(operation.name, ", ", size));
      EXPECT_TRUE(refused(changed(operation,
                                  [&](Call& c) {
                                    for (DataView& view : c.outputs) view.size = size;
                                    for (ConstDataView& view : c.inputs) view.size = size;
                                  }),
                          concat("has the size ", size, ", must not be negative")));
    }
  }
  expect_nothing_happened();
}

// Any subset of the ranks' streams is being captured.
TEST_F(EveryOperation, RefusesStreamsOfWhichSomeAreCaptured) {
  // Bit r of `captured`: the stream of rank r is being captured.
  for (unsigned captured = 1; captured < (1u << kRanks) - 1; ++captured) {
    const auto is = [&](int rank) { return (captured >> rank & 1) != 0; };
    for (int rank = 0; rank < kRanks; ++rank) {
      const DeviceScope scope(fixture_.devices[static_cast<size_t>(rank)]);
      if (!is(rank)) continue;
      ASSERT_EQ(
          cudaStreamBeginCapture(fixture_.streams[static_cast<size_t>(rank)], cudaStreamCaptureModeRelaxed),
          cudaSuccess);
    }
    const int other = is(0) != is(1) ? 1 : 2;  // the first rank that differs from rank 0
    for (const Operation& operation : operations()) {
      if (!operation.takes_streams) continue;
      EXPECT_TRUE(
          refused(changed(operation, [](Call&) {}),
                  concat(operation.name, ": the stream of rank ", other, is(other) ? " is" : " is not",
                         " being captured and that of rank 0 ", is(0) ? "is" : "is not")));
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      if (!is(rank)) continue;
      cudaGraph_t graph = nullptr;
      ASSERT_EQ(cudaStreamEndCapture(fixture_.streams[static_cast<size_t>(rank)], &graph), cudaSuccess);
      ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
  }
  expect_nothing_happened();
}

// The captures stay valid, and the communicator can be used.
TEST_F(EveryOperation, RefusesStreamsOfAnotherCaptureThanItsOwn) {
  CommunicatorFixture others(fixture_.devices);
  StreamForkJoin first(fixture_), second(others);
  const auto expect_refusals = [&](const std::string& why) {
    for (const Operation& operation : operations()) {
      if (!operation.takes_streams) continue;
      EXPECT_TRUE(refused(changed(operation, [&](Call& c) { c.streams = others.handles; }),
                          concat(operation.name, ": the communicator is part of a capture", why)));
    }
  };
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(fixture_.handles[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
  first.fork();
  for (const Operation& operation : operations()) {
    if (!operation.takes_streams) continue;
    EXPECT_TRUE(ok(changed(operation, [](Call&) {})));
  }
  expect_refusals(" that has not ended, and the streams are not captured");
  ASSERT_EQ(cudaStreamBeginCapture(others.handles[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
  second.fork();
  expect_refusals(" that has not ended, and the streams are part of another one");
  second.join();
  ASSERT_EQ(cudaStreamEndCapture(others.handles[0], &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  first.join();
  ASSERT_EQ(cudaStreamEndCapture(fixture_.handles[0], &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  expect_nothing_happened();
  for (const Operation& operation : operations())
    EXPECT_TRUE(ok(changed(operation, [&](Call& c) { c.streams = others.handles; })));
  others.synchronize();
}

TEST_F(EveryOperation, RefusesStreamsOfSeveralCaptures) {
  for (const cudaStream_t stream : fixture_.handles)
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (const Operation& operation : operations()) {
    if (!operation.takes_streams) continue;
    EXPECT_TRUE(refused(
        changed(operation, [](Call&) {}),
        concat(operation.name, ": the stream of rank 1 is part of another capture than that of rank 0")));
  }
  for (const cudaStream_t stream : fixture_.handles) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  expect_nothing_happened();
}

#ifdef __SIMT__
// A kernel that an operation launched for the first time would wait for a device that is stuck.
TEST(Loading, OperationsLaunchOnlyWhatTheirCommunicatorHasLoaded) {
  for (const int ranks : {kRanks, 9}) {  // the reductions of more than 8 vectors have a kernel of their own
    const int devices = std::min(device_count(), 2);
    for (int device = 0; device < devices; ++device) ASSERT_EQ(reset_device(device), cudaSuccess);
    std::vector<int> rank_devices;
    for (int rank = 0; rank < ranks; ++rank) rank_devices.push_back(rank % devices);
    CommunicatorFixture fixture(rank_devices);
    // Elements have up to 8 bytes.
    const RankVectors in(fixture.devices, exact_inputs(ranks, 2 * ranks * kBlock, 3)),
        out(fixture.devices, exact_inputs(ranks, 2 * ranks * kBlock, 3));
    std::vector<std::set<std::string>> loaded;
    for (int device = 0; device < devices; ++device) loaded.push_back(simt::loaded_kernels(device));
    for (const Operation& operation : operations(ranks))
      for (const DType dtype : kDTypes)
        for (const Reduction reduction : kReductions)
          for (const SumOrder order : {SumOrder::left_to_right, SumOrder::balanced_tree})
            for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct, Algorithm::root}) {
              Call call{out.views(), in.const_views(), {}, fixture.handles};
              for (DataView& view : call.outputs) view = {view.data, operation.output_size, dtype};
              for (ConstDataView& view : call.inputs) view = {view.data, operation.input_size, dtype};
              call.options = {.reduction = reduction, .algorithm = algorithm, .order = order};
              static_cast<void>(operation.run(call, fixture.communicator));  // some combinations are refused
            }
    fixture.synchronize();
    for (int device = 0; device < devices; ++device)
      EXPECT_EQ(simt::loaded_kernels(device), loaded[static_cast<size_t>(device)]) << ranks << " ranks";
  }
}
#endif

}  // namespace
}  // namespace rondo::test
