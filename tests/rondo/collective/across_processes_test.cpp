// What the processes of `mpirun rondo allreduce` find out together, and that no failure is lost on the way.
#include <gtest/gtest.h>

#include <rondo/tests/across_hosts/forwarding_group.h>
#include <rondo/tests/support/process_pair.h>
#include <rondo/tools/rondo/collective/across_processes.h>

#include <array>
#include <functional>
#include <string>
#include <utility>

namespace rondo::program {
namespace {

using test::ProcessPair;

std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::timed_out);
    return error.what();
  }
  return "no error";
}

// Exchanges for this purpose fail.
class FailsAt final : public test::ForwardingGroup {
 public:
  FailsAt(ProcessGroup& group, std::string purpose) : ForwardingGroup(group), purpose_(std::move(purpose)) {}
  Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                  const std::string& what) override {
    if (what == purpose_) return Status(StatusCode::timed_out, concat(what, ": nobody answers"));
    return ForwardingGroup::exchange(sends, receives, tag, what);
  }

 private:
  std::string purpose_;
};

TEST(AcrossProcesses, WrongElementsAreAddedUp) {
  ProcessPair::run([](ProcessGroup& processes, int index) {
    ProcessEngine engine(processes, {0});
    EXPECT_EQ(engine.ranks(), 2);
    EXPECT_EQ(engine.first_rank(), index);
    EXPECT_EQ(engine.sum_over_processes(index == 0 ? 3 : 5'000'000'000), 5'000'000'003);
    FailsAt failing(processes, "counting wrong elements");
    ProcessEngine unheard(failing, {0});
    EXPECT_EQ(failure_of([&] { unheard.sum_over_processes(0); }), "counting wrong elements: nobody answers");
  });
}

TEST(AcrossProcesses, TheLinksAreMeasured) {
  std::array<double, 2> rates = {};
  ProcessPair::run([&](ProcessGroup& processes, int index) {
    rates[static_cast<size_t>(index)] = measure_messages(processes);
    FailsAt failing(processes, "measuring the links between processes");
    EXPECT_EQ(failure_of([&] { measure_messages(failing); }),
              "measuring the links between processes: nobody answers");
  });
  EXPECT_GT(rates[0], 0);
  EXPECT_EQ(rates[0], rates[1]) << "the slowest decides";
}

}  // namespace
}  // namespace rondo::program
