// reduce_on_device(): its results, also in place, and its errors.
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/exact_data.h>

namespace rondo::test {
namespace {

constexpr int64_t kSize = 20;

class ReduceOnDevice : public testing::Test {
 protected:
  Status call(DataView output, const std::vector<ConstDataView>& inputs, Reduction reduction = Reduction::sum,
              SumOrder order = SumOrder::left_to_right) {
    Status status = reduce_on_device(output, inputs, reduction, order, stream_);
    stream_.synchronize();
    return status;
  }
  Stream stream_;
};

// In both orders, which differ for these data in nothing but the kernel.
TEST_F(ReduceOnDevice, ReducesEveryTypeAlsoIntoAnInput) {
  for (const DType dtype : kDTypes)
    for (const Reduction reduction : kReductions)
      for (const int inputs : {1, 2, 9}) {
        SCOPED_TRACE(concat(name_of(dtype), ", ", name_of(reduction), ", ", inputs, " inputs"));
        visit(dtype, [&](auto element) {
          using T = decltype(element);
          const auto data = exact_data<T>(reduction, inputs, 257, 5);
          const std::vector<int> devices(static_cast<size_t>(inputs), 0);
          for (const SumOrder order : {SumOrder::left_to_right, SumOrder::balanced_tree}) {
            TypedVectors<T> in(devices, data.inputs, 1), out({0}, 257, 3);
            ASSERT_TRUE(ok(call(out.view(0), in.const_views(), reduction, order)));
            EXPECT_TRUE(all_equal_bits(out.download(0), data.want));
            ASSERT_TRUE(ok(call(in.view(inputs - 1), in.const_views(), reduction, order)));
            EXPECT_TRUE(all_equal_bits(in.download(static_cast<size_t>(inputs - 1)), data.want));
          }
        });
      }
}

// Kernels have room for 8 or for 64 vectors.
TEST_F(ReduceOnDevice, TakesAnyNumberOfInputs) {
  for (const int inputs : {7, 8, 9, 10, 63, 64}) {
    SCOPED_TRACE(concat(inputs, " inputs"));
    const auto data = exact_data<float>(Reduction::sum, inputs, kSize, 6);
    TypedVectors<float> in(std::vector<int>(static_cast<size_t>(inputs), 0), data.inputs);
    for (const SumOrder order : {SumOrder::left_to_right, SumOrder::balanced_tree}) {
      TypedVectors<float> out({0}, kSize);
      ASSERT_TRUE(ok(reduce_on_device(out.view(0), in.const_views(), Reduction::sum, order, stream_)));
      stream_.synchronize();
      EXPECT_TRUE(all_equal_bits(out.download(0), data.want));
    }
  }
}

// The output may be one of the inputs or be adjacent to one, but must not overlap one partially.
TEST_F(ReduceOnDevice, RefusesAnOutputThatIsPartlyAnInput) {
  const auto values = exact_inputs(2, 3 * kSize, 4);
  RankVectors memory({0, 0}, values);
  const DataView output = memory.view(0).part(kSize, kSize);
  const ConstDataView apart = memory.view(1).part(0, kSize);
  for (const int64_t distance : {int64_t{1}, kSize / 2, kSize - 1})
    for (const int64_t begin : {kSize - distance, kSize + distance}) {
      SCOPED_TRACE(concat("from ", begin));
      const ConstDataView shifted = memory.view(0).part(begin, kSize);
      EXPECT_TRUE(refused(call(output, {shifted, apart}), "the output overlaps the input 0, must be it"));
      EXPECT_TRUE(refused(call(output, {apart, shifted}), "the output overlaps the input 1, must be it"));
      EXPECT_TRUE(refused(call(output, {apart, output, shifted}), "the output overlaps the input 2"));
    }
  EXPECT_TRUE(all_equal_bits(memory.download(0), values[0])) << "a refusal changed something";
  EXPECT_TRUE(ok(call(output, {memory.view(0).part(0, kSize), memory.view(0).part(2 * kSize, kSize)})));
  EXPECT_TRUE(ok(call(output, {apart, output})));
}

TEST_F(ReduceOnDevice, RefusesWhatDoesNotFit) {
  RankVectors memory({0, 0}, exact_inputs(2, kSize, 4));
  const DataView output = memory.view(0);
  const ConstDataView input = memory.view(1);
  EXPECT_TRUE(refused(call(output, {}), "there are 0 inputs, must be 1 to 64"));
  EXPECT_TRUE(refused(call(output, std::vector<ConstDataView>(65, input)), "there are 65 inputs"));
  EXPECT_TRUE(
      refused(call(output, {input, input.part(0, kSize - 1)}), "the input 1 has 19 elements, must have 20"));
  EXPECT_TRUE(
      refused(call(output, {{input.data, kSize, DType::int32}}), "the input 0 is int32, must be float32"));
  EXPECT_TRUE(
      refused(call(output, {{nullptr, kSize, DType::float32}}), "the input 0 is null with 20 elements"));
  EXPECT_TRUE(refused(call({nullptr, kSize, DType::float32}, {input}), "the output 0 is null"));
  std::vector<float> host(kSize);
  EXPECT_TRUE(
      refused(call(output, {{host.data(), kSize, DType::float32}}), "which is not a device's memory"));
  if (device_count() < 2) GTEST_SKIP() << "one device has no memory of another";
  const DeviceScope scope(1);
  const Stream stream;
  EXPECT_TRUE(refused(reduce_on_device(output, {{input}}, Reduction::sum, SumOrder::left_to_right, stream),
                      "the output 0 is in the memory of device 0, must be in that of device 1"));
}

}  // namespace
}  // namespace rondo::test
