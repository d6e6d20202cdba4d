// The built program creates contexts only on the requested devices, because each context takes some hundred
// megabytes of a GPU. The executor reports the devices that had one.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/rondo/support/built_program.h>

namespace rondo::test {
namespace {

class CommandContexts : public BuiltProgram {
 protected:
  void SetUp() override {
    if (std::string(platform()) != "cpu") GTEST_SKIP() << "needs the executor's report of contexts";
    write_data_set(data_.path(), 12, 6);
    setenv("XDG_CACHE_HOME", results_.path().c_str(), 1);
    setenv("SIMT_REPORT_CONTEXTS", "1", 1);
  }
  void TearDown() override { unsetenv("SIMT_REPORT_CONTEXTS"); }

  void expect_contexts(const std::string& line, const std::string& devices) {
    const Outcome outcome = run_line(line);
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.text();
    EXPECT_NE(outcome.err.find("simt: contexts on devices " + devices + "\n"), std::string::npos)
        << line << "\n"
        << outcome.err;
  }
};

TEST_F(CommandContexts, OfTrainings) {
  const std::string data = " --batch 4 --epochs 1 --data " + data_.path().string();
  expect_contexts("train lenet --devices 1,2 --verify" + data, "1, 2");
  expect_contexts("train lenet --devices 3,3" + data, "3");
  expect_contexts("train resnet18 --devices 1,2 --verify" + data, "1, 2");
  expect_contexts("train mlp --layers 2 --width 8 --batch 4 --steps 1 --devices 2,1", "1, 2");
}

TEST_F(CommandContexts, OfMeasurements) {
  expect_contexts("allreduce --devices 1,2 -b 4K -e 4K -n 1 -G 1", "1, 2");
  expect_contexts("links --devices 1,2 --no-store", "1, 2");
  expect_contexts("strategies mlp --devices 1,2 --batch 8 --layers 2 --width 8 --steps 1", "1, 2");
}

}  // namespace
}  // namespace rondo::test
