// One all-reduce of exact data and all checks of its result.
#pragma once

#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/exact_data.h>

#include <string>

namespace rondo::test {

struct AllReduceCase {
  Algorithm algorithm = Algorithm::ring;
  Reduction reduction = Reduction::sum;
  bool in_place = false;
  int64_t input_offset = 0, output_offset = 0;  // from a 256-byte boundary, in elements
  bool staggered = false;  // each rank's offset is one element larger than the previous rank's
  SumOrder order = SumOrder::left_to_right;
};

inline std::string describe(const AllReduceCase& c) {
  return concat(c.algorithm, ", ", name_of(c.reduction), c.in_place ? ", in place" : ", out of place",
                ", input offset ", c.input_offset, ", output offset ", c.output_offset,
                c.staggered ? ", staggered" : "", c.order == SumOrder::balanced_tree ? ", tree" : "");
}

// Outputs start as poison and are between guards. Out of place, the inputs must not change.
template <class T>
testing::AssertionResult all_reduces(CommunicatorFixture& fixture, const AllReduceCase& c,
                                     const ExactData<T>& data) {
  const auto size = static_cast<int64_t>(data.want.size());
  const auto offsets = [&](int64_t first) {
    return [=, &c](int rank) { return (first + (c.staggered ? rank : 0)) % 16; };
  };
  TypedVectors<T> in(fixture.devices, size, offsets(c.input_offset));
  in.upload(data.inputs);
  TypedVectors<T> out(fixture.devices, c.in_place ? 0 : size, offsets(c.output_offset));
  const TypedVectors<T>& result = c.in_place ? in : out;
  const ReduceOptions options{.reduction = c.reduction, .algorithm = c.algorithm, .order = c.order};
  const Status status =
      c.in_place ? all_reduce(in.views(), options, fixture.communicator, fixture.handles)
                 : all_reduce(out.views(), in.const_views(), options, fixture.communicator, fixture.handles);
  if (!status.ok()) return ok(status) << ", " << describe(c);
  fixture.synchronize();
  for (size_t rank = 0; rank < data.inputs.size(); ++rank) {
    const auto right = all_equal_bits(result.download(rank), data.want);
    if (!right)
      return testing::AssertionFailure() << right.message() << "; rank " << rank << ", " << describe(c);
    if (c.in_place) continue;
    const auto kept = all_equal_bits(in.download(rank), data.inputs[rank]);
    if (!kept)
      return testing::AssertionFailure()
             << "the input: " << kept.message() << "; rank " << rank << ", " << describe(c);
  }
  return testing::AssertionSuccess();
}

}  // namespace rondo::test
