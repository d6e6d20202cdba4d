// Checks of a Status: EXPECT_TRUE(ok(gemm(...))), EXPECT_TRUE(refused(gemm(...), "stride")), and
// SKIP_IF_REFUSED(check_math("", Math::tf32)) for tests of what not every supported GPU has.
#pragma once

#include <gtest/gtest.h>

#include <rondo/kernels/core/status.h>

#include <string>

namespace rondo::test {

inline testing::AssertionResult ok(const Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << name_of(status.code()) << ": " << status.message();
}

// True for a bad_argument whose message contains `says`.
inline testing::AssertionResult refused(const Status& status, const std::string& says) {
  if (status.code() != StatusCode::bad_argument)
    return testing::AssertionFailure()
           << name_of(status.code()) << " instead of bad argument: " << status.message();
  if (status.message().find(says) == std::string::npos)
    return testing::AssertionFailure()
           << "the message \"" << status.message() << "\" does not say \"" << says << '"';
  return testing::AssertionSuccess();
}

#define SKIP_IF_REFUSED(expression) \
  if (const ::rondo::Status status = (expression); !status.ok()) GTEST_SKIP() << status.message()

}  // namespace rondo::test
