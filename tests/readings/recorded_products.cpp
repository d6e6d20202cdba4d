// All operations with the shapes of the tests of all operations, and drawn products and convolutions of every
// arithmetic.
#include <rondo/tests/kernels/drawn_convolutions.h>
#include <rondo/tests/kernels/drawn_products.h>
#include <rondo/tests/kernels/operations/operations.h>
#include <rondo/tests/readings/record.h>

namespace rondo::test {
namespace {

TEST(Recorded, AllOperations) {
  for (const auto* list : {&operations(), &narrow_operations()})
    for (const Operation& operation : *list) record_run(operation.name, operation.run);
}

TEST(Recorded, DrawnProducts) {
  for_each_product_arithmetic([](const auto& drawn) {
    if (!drawn.supported()) return;
    Random random(drawn.seed());
    for (int i = 0; i < draws(); ++i) {
      const ProductDraw d = drawn.draw(random);
      const std::string name = concat(drawn.name(), " ", i, ": ", drawn.describe(d));
      SCOPED_TRACE(name);
      record(name, output_of(drawn.compute(d, drawn.inputs(d))));
    }
  });
}

TEST(Recorded, DrawnConvolutions) {
  for_each_conv_arithmetic([](const auto& drawn) {
    if (!drawn.supported()) return;
    using T = typename std::decay_t<decltype(drawn)>::T;
    Random random(drawn.seed());
    for (int i = 0; i < draws(); ++i) {
      const ConvDraw d = drawn.draw(random);
      const std::string name = concat(drawn.name(), " ", i, ": ", drawn.describe(d));
      SCOPED_TRACE(name);
      const auto values = [](int64_t size, uint64_t seed) {
        return without_ties(representable<T>(size, seed));
      };
      const auto results = drawn.compute(d, drawn.inputs(d, values));
      record(name + ", y", output_of(results.y));
      record(name + ", dx", output_of(results.dx));
      record(name + ", dw", output_of(results.dw));
      record(name + ", db", output_of(results.db));
      record(name + ", transposed", output_of(results.transposed));
    }
  });
}

}  // namespace
}  // namespace rondo::test
