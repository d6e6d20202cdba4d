// Orders between proxies (PTX ISA 8.7.1): each rule with a right program, and with the same without its
// fence.
#include "device_program.h"

namespace ptx_test {
namespace {

const std::string kMemory = ".extern .shared .align 1024 .b8 pool[];\n.shared .align 8 .b64 barrier;\n";

struct Rule {
  std::string before, fence, after;
  std::string part;  // of the fault without the fence
  uint32_t threads = 128;
  uint32_t cluster = 1;
};

ptx::Fault run_rule(const std::string& body, const Rule& rule, bool late) {
  Program program(kernel(body, kMemory));
  program.launch.shape.block[0] = rule.threads;
  program.launch.shape.dynamic_shared = 16384;
  program.launch.shape.grid[0] = program.launch.shape.cluster[0] = rule.cluster;
  program.launch.late = {late, late, late, false};
  std::vector<uint32_t> out(256);
  return program.run(out);
}

void check_rule(const Rule& rule) {
  for (const bool late : {false, true}) {
    const ptx::Fault right = run_rule(rule.before + rule.fence + rule.after, rule, late);
    EXPECT_EQ(right.error, 0) << rule.before << rule.fence << rule.after << "\n" << right.text;
    const ptx::Fault wrong = run_rule(rule.before + rule.after, rule, late);
    EXPECT_EQ(wrong.error, kLaunchFailure) << rule.before << rule.after;
    EXPECT_NE(wrong.text.find(rule.part), std::string::npos) << wrong.text;
  }
}

// Each thread writes 16 bytes of the first 2 KB; %r3 = pool.
const std::string kFill = R"(
  mov.u32 %r1, %tid.x; mov.u32 %r3, pool; shl.b32 %r2, %r1, 4; add.u32 %r2, %r2, %r3;
  st.shared.v4.u32 [%r2], {0, 0, 0, 0};
  )";
const std::string kOneStores = R"(
  bar.sync 0;
  setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 1024; cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  END:
  )";

TEST(PtxDeviceProxies, ABulkStoreSeesWritesBehindAFence) {
  check_rule({kFill, "fence.proxy.async.shared::cta;", kOneStores, "without fence.proxy.async"});
}

TEST(PtxDeviceProxies, AFenceOfOneThreadIsNotThatOfAll) {
  const Rule rule{kFill, "", "", ""};
  const std::string one =
      kFill + "setp.ne.u32 %p2, %r1, 5; @%p2 bra REST; fence.proxy.async; REST:" + kOneStores;
  EXPECT_EQ(run_rule(one, rule, true).error, kLaunchFailure);
  // The issuer's own fence behind the barrier is on the path from the writes to the copy, too.
  std::string issuer = kFill + kOneStores;
  issuer.insert(issuer.find("cp.async.bulk.global"), "fence.proxy.async; ");
  EXPECT_EQ(run_rule(issuer, rule, true).error, 0);
}

std::string accumulators(const std::string& prefix) {
  std::string list = "{";
  for (int n = 0; n < 4; ++n) list += (n ? ", %" : "%") + prefix + std::to_string(n);
  return list + "}";
}

// A of 64 x 16 and B of 16 x 8 halves, without swizzle: 8 x 8 matrices of 128 bytes; A from pool, B from pool
// + 2048.
const std::string kDescriptors = R"(
  mov.u32 %r3, pool; mov.u32 %r1, %tid.x;
  shr.u32 %r4, %r3, 4; and.b32 %r4, %r4, 0x3FFF; cvt.u64.u32 %rd4, %r4;
  or.b64 %rd4, %rd4, 0x0000001000080000;    // leading 128, stride 256 bytes
  add.s64 %rd5, %rd4, 128;                  // 2048 bytes on
  setp.eq.u32 %p1, %r1, %r1;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
  shl.b32 %r2, %r1, 4; add.u32 %r2, %r2, %r3;
  st.shared.v4.u32 [%r2], {0, 0, 0, 0}; st.shared.v4.u32 [%r2+2048], {0, 0, 0, 0};
  )";
const std::string kProduct = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + accumulators("f") +
                             ", %rd4, %rd5, %p1, 1, 1, 0, 0;\n";
const std::string kCommit = "wgmma.commit_group.sync.aligned;\n",
                  kWait = "wgmma.wait_group.sync.aligned 0;\n";
const std::string kFenceProxy = "fence.proxy.async.shared::cta; ", kBlockBarrier = "bar.sync 0;\n",
                  kFence = "wgmma.fence.sync.aligned;\n";
const std::string kUse = "st.global.f32 [%rd1], %f0;\n";

TEST(PtxDeviceProxies, AProductSeesWritesBehindAFence) {
  check_rule({kDescriptors, kFenceProxy, kBlockBarrier + kFence + kProduct + kCommit + kWait + kUse,
              "without fence.proxy.async"});
}

TEST(PtxDeviceProxies, RegistersOfAProductAreFenced) {
  check_rule(
      {kDescriptors + kFenceProxy + kBlockBarrier, kFence, kProduct + kCommit + kWait + kUse, "wgmma.fence"});
  // Of the second product, too, if the accumulators have changed.
  check_rule({kDescriptors + kFenceProxy + kBlockBarrier + kFence + kProduct + kCommit + kWait +
                  "add.f32 %f1, %f1, 0f3F800000;\n",
              kFence, kProduct + kCommit + kWait + kUse, "has changed since the latest wgmma.fence"});
}

TEST(PtxDeviceProxies, ProductsInTurnNeedOneFence) {
  const Rule rule{"", "", "", ""};
  const std::string body = kDescriptors + kFenceProxy + kBlockBarrier + kFence + kProduct + kProduct +
                           kCommit + kProduct + kCommit + "wgmma.wait_group.sync.aligned 1;\n" + kWait + kUse;
  for (const bool late : {false, true}) {
    const ptx::Fault fault = run_rule(body, rule, late);
    EXPECT_EQ(fault.error, 0) << fault.text;
  }
}

TEST(PtxDeviceProxies, AccumulatorsAreUsedAfterTheWait) {
  const std::string start = kDescriptors + kFenceProxy + kBlockBarrier + kFence + kProduct + kCommit;
  check_rule({start, kWait, kUse + kWait, "before wgmma.wait_group"});
  check_rule({start + kProduct + kCommit, kWait, "wgmma.wait_group.sync.aligned 1;\n" + kUse + kWait,
              "before wgmma.wait_group"});
  check_rule({start, kWait, "", "exits without a wait for its wgmma"});
}

TEST(PtxDeviceProxies, AStoreToTheSourceOfABulkCopyWaits) {
  // Only late copies show it: at their issue they have read the source.
  const Rule rule{"", "", "", "", 1};
  const std::string before =
      "mov.u32 %r3, pool; st.shared.v4.u32 [%r3], {1, 2, 3, 4}; fence.proxy.async.shared::cta;"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 16; cp.async.bulk.commit_group;";
  const std::string wait = "cp.async.bulk.wait_group.read 0;", after = "st.shared.u32 [%r3+4], 5;";
  EXPECT_EQ(run_rule(before + wait + after, rule, true).error, 0);
  const ptx::Fault fault = run_rule(before + after + wait, rule, true);
  EXPECT_EQ(fault.error, kLaunchFailure);
  EXPECT_NE(fault.text.find("which a bulk copy has not read"), std::string::npos) << fault.text;
}

TEST(PtxDeviceProxies, AReadOfTheDestinationOfABulkCopyWaits) {
  const Rule rule{"", "", "", "", 1};
  const std::string before = R"(
    mov.u32 %r1, barrier; mov.u32 %r2, pool; st.shared.u32 [%r2], 7;
    mbarrier.init.shared::cta.b64 [%r1], 1; fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 64, [%r1];
    )";
  const std::string wait = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;\n",
                    read = "ld.shared.u32 %r3, [%r2];\n";
  EXPECT_EQ(run_rule(before + wait + read, rule, true).error, 0);
  const ptx::Fault fault = run_rule(before + read + wait, rule, true);
  EXPECT_EQ(fault.error, kLaunchFailure);
  EXPECT_NE(fault.text.find("only an asynchronous copy that has not been waited for"), std::string::npos)
      << fault.text;
}

TEST(PtxDeviceProxies, AnMBarrierIsVisibleToTheClusterBehindAFence) {
  const std::string before = R"(
    mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r2, barrier;
    @%p1 bra STARTED;
    mbarrier.init.shared::cta.b64 [%r2], 2;
    )";
  const std::string after = R"(
    STARTED: barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
    @%p1 bra END;
    mapa.shared::cluster.u32 %r3, %r2, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
    mapa.shared::cluster.u32 %r3, %r2, 1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
    END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    )";
  check_rule({before, "fence.mbarrier_init.release.cluster;", after, "fence.mbarrier_init", 32, 2});
  // An arrival that releases orders the initialisation, too.
  std::string releases = before + after;
  releases.erase(releases.find(".relaxed"), 8);
  const ptx::Fault fault = run_rule(releases, {"", "", "", "", 32, 2}, true);
  EXPECT_EQ(fault.error, 0) << fault.text;
}

// cuda::memcpy_async() of CCCL makes such copies, and no fence. Of tensor copies see device_async.cpp.
TEST(PtxDeviceProxies, ABulkCopySeesTheMBarriersOfItsBlockWithoutAFence) {
  const std::string body = R"(
    mov.u32 %r1, barrier; mov.u32 %r2, pool; mbarrier.init.shared::cta.b64 [%r1], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 64, [%r1];
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;
    )";
  for (const bool late : {false, true}) {
    const ptx::Fault fault = run_rule(body, {"", "", "", "", 1}, late);
    EXPECT_EQ(fault.error, 0) << fault.text;
  }
}

}  // namespace
}  // namespace ptx_test
