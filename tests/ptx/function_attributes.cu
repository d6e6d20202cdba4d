// Attributes of functions that only the toolkit's headers name.
#include "../simt/host_support.h"

namespace simt_test {
namespace {

__global__ void nothing() {}

using FunctionAttributes = HostTest;

TEST_F(FunctionAttributes, NonPortableSizesOfClustersMayBeAllowed) {
  const auto set = [](int value) {
    return cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, value);
  };
  EXPECT_EQ(set(1), cudaSuccess);
  EXPECT_EQ(set(0), cudaSuccess);
  EXPECT_EQ(set(2), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace simt_test
