// Which programs are a deadlock: those that repeat themselves while nothing changes.
#include <atomic>
#include <chrono>
#include <thread>

#include "device_program.h"

namespace ptx_test {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kForEver{1'000'000};

ptx::Fault run(const std::string& body, std::chrono::seconds patience, std::vector<uint32_t>& out) {
  Program program(kernel(body, ".shared .align 8 .b64 barrier; .shared .b32 flag;\n"));
  program.launch.shape.block[0] = 64;
  program.launch.patience = patience;
  return program.run(out);
}

// A million times what the body does. Longer than it takes until the warps are followed.
std::string loop(const std::string& body) {
  return "mov.u32 %r1, 0; mov.u32 %r2, 1;\n"
         "MORE: " +
         body +
         "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1000000; @%p1 bra MORE;\n"
         "st.global.u32 [%rd1], %r2;";
}

TEST(PtxDeviceWaiting, AComputationIsNoDeadlock) {
  for (const std::string body :
       {"mad.lo.u32 %r2, %r2, 5, 3;\n", "ld.global.u32 %r3, [%rd2]; add.u32 %r2, %r2, %r3;\n",
        "st.global.u32 [%rd1+4], %r1;\n", "red.global.add.u32 [%rd1+8], 1;\n",
        "ld.volatile.global.u32 %r3, [%rd2]; st.global.u32 [%rd1+4], %r1;\n",
        "ld.volatile.global.u32 %r3, [%rd2]; red.global.add.u32 [%rd1+8], 1;\n",
        "atom.global.add.u32 %r3, [%rd1+8], 1;\n"}) {
    std::vector<uint32_t> out(8);
    const ptx::Fault fault = run(loop(body), 0s, out);
    EXPECT_EQ(fault.error, 0) << body << fault.text;
  }
}

// The first warp computes for long, then releases the second one.
TEST(PtxDeviceWaiting, AWarpThatWaitsForAComputationIsNoDeadlock) {
  const std::string wait =
      "mov.u32 %r5, %tid.x; setp.ge.u32 %p2, %r5, 32; st.shared.u32 [flag], 0;\n"
      "bar.sync 0; @%p2 bra WAIT;\n";
  const std::string body =
      wait + loop("mad.lo.u32 %r2, %r2, 5, 3;\n") +
      "st.volatile.shared.u32 [flag], 1; bra END;\n"
      "WAIT: ld.volatile.shared.u32 %r6, [flag]; setp.eq.u32 %p3, %r6, 0; @%p3 bra WAIT;\n"
      "END:";
  std::vector<uint32_t> out(1);
  const ptx::Fault fault = run(body, 0s, out);
  EXPECT_EQ(fault.error, 0) << fault.text;
}

struct Loop {
  const char* name;
  std::string body;
};
const Loop kWaits[] = {
    {"load", "WAIT: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    {"acquire", "WAIT: ld.acquire.gpu.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    {"sleep", "WAIT: nanosleep.u32 100; ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    {"add", "WAIT: atom.global.add.u32 %r1, [%rd1], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    {"exchange", "WAIT: atom.global.exch.b32 %r1, [%rd1], 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    {"weak", "WAIT: membar.gl; ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    {"nothing", "WAIT: bra WAIT;"},
    {"waits",
     "WAIT: cp.async.wait_all; ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    // It stores, always the same.
    {"store",
     "WAIT: st.global.u32 [%rd1+4], 7; ld.volatile.global.u32 %r1, [%rd1];\n"
     "setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"},
    // The delay grows up to a limit.
    {"backoff",
     "mov.u32 %r2, 8;\nWAIT: nanosleep.u32 %r2; shl.b32 %r2, %r2, 1; min.u32 %r2, %r2, 256;\n"
     "ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;"}};

TEST(PtxDeviceWaiting, ALoopThatNothingReleasesIsADeadlock) {
  for (const Loop& wait : kWaits) {
    std::vector<uint32_t> out(2);
    const ptx::Fault fault = run(wait.body, 0s, out);
    EXPECT_EQ(fault.error, kLaunchFailure) << wait.name;
    EXPECT_NE(fault.text.find("the warps have only waited in loops"), std::string::npos) << fault.text;
    EXPECT_NE(fault.text.find("warp 1, live lanes 0xffffffff"), std::string::npos) << fault.text;
  }
}

// The host changes memory a moment after the patience of a second.
ptx::Fault run_beside_host(const std::string& body, bool host_waits) {
  std::vector<uint32_t> out(2);
  Program program(kernel(body));
  program.launch.patience = 1s;
  program.launch.host_waits = [=] { return host_waits; };
  std::thread host([&] {
    std::this_thread::sleep_for(1500ms);
    std::atomic_ref(out[0]).store(1);
  });
  const ptx::Fault fault = program.run(out);
  host.join();
  return fault;
}

TEST(PtxDeviceWaiting, ThePatienceIsLongerIfTheHostDoesNotWaitOrTheLoopCounts) {
  const std::string& wait = kWaits[0].body;
  const std::string counting =
      "mov.u32 %r5, 0;\nWAIT: add.u32 %r5, %r5, 1;" + wait.substr(wait.find(':') + 1);
  EXPECT_EQ(run_beside_host(wait, true).error, kLaunchFailure);
  EXPECT_EQ(run_beside_host(wait, false).error, 0);
  EXPECT_EQ(run_beside_host(counting, true).error, 0);
}

// Weak loads, too: the host may change what they read.
TEST(PtxDeviceWaiting, ALoopOfWeakLoadsMayBeReleased) {
  EXPECT_EQ(run_beside_host(
                "WAIT: membar.gl; ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;", false)
                .error,
            0);
}

// Lanes 0 and 1 wait in loops of their own, at lower places than lane 2, which releases them.
TEST(PtxDeviceWaiting, AllLanesOfAWarpHaveTheirTurns) {
  const std::string body =
      "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra FIRST; setp.eq.u32 %p1, %r1, 1; @%p1 bra "
      "SECOND;\n"
      "bra OTHERS;\n"
      "FIRST: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST; bra END;\n"
      "SECOND: ld.volatile.global.u32 %r2, [%rd1+4]; setp.eq.u32 %p1, %r2, 0; @%p1 bra SECOND; bra END;\n"
      "OTHERS: setp.ne.u32 %p1, %r1, 2; @%p1 bra END;\n"
      "st.volatile.global.u32 [%rd1], 1; st.volatile.global.u32 [%rd1+4], 1; END:";
  std::vector<uint32_t> out(2);
  const ptx::Fault fault = run(body, 0s, out);
  EXPECT_EQ(fault.error, 0) << fault.text;
}

TEST(PtxDeviceWaiting, ALoopThatCountsIsADeadlock) {
  std::vector<uint32_t> out(2);
  const ptx::Fault fault =
      run("mov.u32 %r5, 0;\nWAIT: add.u32 %r5, %r5, 1; ld.volatile.global.u32 %r1, [%rd1];\n"
          "setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;",
          0s, out);
  EXPECT_EQ(fault.error, kLaunchFailure);
}

// Only its own cluster can complete a barrier or an mbarrier.
TEST(PtxDeviceWaiting, WhatOnlyTheClusterCanEndIsADeadlockAtOnce) {
  const std::string test =
      "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r1, barrier; @%p1 bra READY;\n"
      "mbarrier.init.shared::cta.b64 [%r1], 1; READY: bar.sync 0;\n"
      "WAIT: mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;";
  for (const std::string& body : {std::string("bar.sync 1, 96;"), test}) {
    std::vector<uint32_t> out(2);
    const ptx::Fault fault = run(body, kForEver, out);
    EXPECT_EQ(fault.error, kLaunchFailure);
    EXPECT_NE(fault.text.find("deadlock: no warp can go on"), std::string::npos) << fault.text;
  }
}

}  // namespace
}  // namespace ptx_test
