// Asynchronous operations: at their issue, at the last moment, and at drawn ones; and roundings that no
// document specifies.
#include <bit>

#include "device_program.h"

namespace ptx_test {
namespace {

struct Outcome {
  ptx::Fault fault;
  std::vector<uint32_t> out;
};

Outcome run_async(const std::string& body, ptx::Lateness late, std::optional<uint64_t> seed = {},
                  uint32_t threads = 1) {
  Program program(kernel(body, kPool + ".shared .align 8 .b64 barrier;\n"));
  program.launch.shape.dynamic_shared = 1024;
  program.launch.shape.block[0] = threads;
  program.launch.late = late;
  program.launch.seed = seed;
  program.launch.checks.unwritten = false;  // the values show what was missed
  std::vector<uint32_t> in(64), out(64);
  for (uint32_t n = 0; n < 64; ++n) in[n] = 100 + n;
  const ptx::Fault fault = program.run(out, in);
  return {fault, out};
}

constexpr ptx::Lateness kAtOnce{}, kLate{true, true, true, false}, kDrawn{true, true, true, true};

// Without a wait, the value that was in shared memory before.
const std::string kCopy = R"(
  mov.u32 %r1, pool; st.shared.u32 [%r1], 7;
  cp.async.ca.shared.global [%r1], [%rd2], 4; cp.async.commit_group;
  )";

TEST(PtxDeviceAsync, CopiesHappenAtTheLatestWhenTheirGroupIsWaitedFor) {
  const std::string read = "ld.shared.u32 %r2, [%r1]; st.global.u32 [%rd1], %r2;";
  EXPECT_EQ(run_async(kCopy + read, kAtOnce).out[0], 100u);
  EXPECT_EQ(run_async(kCopy + read, kLate).out[0], 7u);
  EXPECT_EQ(run_async(kCopy + "cp.async.wait_group 0;" + read, kLate).out[0], 100u);
  EXPECT_EQ(run_async(kCopy + "cp.async.wait_all;" + read, kLate).out[0], 100u);
  // The second group may still be under way.
  const std::string two = kCopy + R"(
    st.shared.u32 [%r1+4], 8;
    cp.async.ca.shared.global [%r1+4], [%rd2+4], 4; cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.v2.u32 {%r2, %r3}, [%r1]; st.global.v2.u32 [%rd1], {%r2, %r3};)";
  const Outcome outcome = run_async(two, kLate);
  EXPECT_EQ(outcome.fault.error, 0) << outcome.fault.text;
  EXPECT_EQ(outcome.out[0], 100u);
  EXPECT_EQ(outcome.out[1], 8u);
}

TEST(PtxDeviceAsync, ACopyFillsWhatItsSourceLacksWithZeros) {
  const std::string body = R"(
    mov.u32 %r1, pool; mov.u32 %r2, 4; st.shared.v2.u32 [%r1], {%r1, %r1};
    cp.async.ca.shared.global [%r1], [%rd2], 8, %r2; cp.async.wait_all;
    ld.shared.v2.u32 {%r2, %r3}, [%r1]; st.global.v2.u32 [%rd1], {%r2, %r3};)";
  for (const ptx::Lateness late : {kAtOnce, kLate, kDrawn}) {
    const Outcome outcome = run_async(body, late);
    EXPECT_EQ(outcome.out[0], 100u);
    EXPECT_EQ(outcome.out[1], 0u);
  }
}

// Two lanes copy to the same place: which one is last is drawn.
TEST(PtxDeviceAsync, DrawnOrdersDifferBySeedAndRepeat) {
  const std::string body = R"(
    mov.u32 %r1, pool; mov.u32 %r4, %tid.x; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd3, %rd2, %rd3;
    cp.async.ca.shared.global [%r1], [%rd3], 4; cp.async.commit_group;
    mov.u32 %r5, 0;
    LOOP: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3000; @%p1 bra LOOP;
    cp.async.wait_all; bar.sync 0;
    ld.shared.u32 %r2, [%r1]; st.global.u32 [%rd1], %r2;)";
  std::map<uint32_t, int> seen;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const Outcome outcome = run_async(body, kDrawn, seed, 4);
    EXPECT_EQ(outcome.fault.error, 0) << outcome.fault.text;
    EXPECT_EQ(run_async(body, kDrawn, seed, 4).out[0], outcome.out[0]);
    ++seen[outcome.out[0]];
  }
  EXPECT_GT(seen.size(), 1u);
}

const std::string kBulkLoad = R"(
  mov.u32 %r1, barrier; mov.u32 %r2, pool;
  st.shared.u32 [%r2], 7;
  mbarrier.init.shared::cta.b64 [%r1], 1; fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 64, [%r1];
  )";
const std::string kWaitForPhase =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;\n";

TEST(PtxDeviceAsync, BulkLoadsHappenAtTheLatestWhenTheirPhaseIsWaitedFor) {
  const std::string read = "ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd1], %r3;";
  EXPECT_EQ(run_async(kBulkLoad + read + kWaitForPhase, kAtOnce).out[0], 100u);
  EXPECT_EQ(run_async(kBulkLoad + read + kWaitForPhase, kLate).out[0], 7u);
  for (const ptx::Lateness late : {kAtOnce, kLate, kDrawn}) {
    const Outcome outcome = run_async(kBulkLoad + kWaitForPhase + read, late, 3);
    EXPECT_EQ(outcome.fault.error, 0) << outcome.fault.text;
    EXPECT_EQ(outcome.out[0], 100u);
  }
}

const std::string kBulkStore = R"(
  mov.u32 %r2, pool; st.shared.v4.u32 [%r2], {5, 6, 7, 8}; fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16; cp.async.bulk.commit_group;
  )";

TEST(PtxDeviceAsync, BulkStoresReadAndWriteAtTheLatestWhenTheirGroupIsWaitedFor) {
  const std::string read = "ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd1+16], %r3;";
  // .read: the source may be used again, and the destination may not be written yet.
  EXPECT_EQ(run_async(kBulkStore + "cp.async.bulk.wait_group.read 0;" + read, kLate).out[4], 0u);
  EXPECT_EQ(run_async(kBulkStore + "cp.async.bulk.wait_group 0;" + read, kLate).out[4], 5u);
  EXPECT_EQ(run_async(kBulkStore + "cp.async.bulk.wait_group.read 0;" + read, kAtOnce).out[4], 5u);
  const Outcome again =
      run_async(kBulkStore + "cp.async.bulk.wait_group.read 0; st.shared.u32 [%r2], 9;", kLate);
  EXPECT_EQ(again.fault.error, 0) << again.fault.text;
  EXPECT_EQ(again.out[0], 5u);
  EXPECT_EQ(run_async(kBulkStore + "st.shared.u32 [%r2], 9; cp.async.bulk.wait_group 0;", kAtOnce).out[0],
            5u);
}

// One of two threads leaves the mbarrier: the next phase needs only the other.
TEST(PtxDeviceAsync, AThreadThatDropsIsNotExpectedAgain) {
  const std::string body = R"(
    mov.u32 %r1, barrier; mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 2; bar.sync 0;
    @!%p1 mbarrier.arrive_drop.shared::cta.b64 _, [%r1]; @!%p1 bra END;
    mbarrier.arrive.noComplete.shared::cta.b64 %rd4, [%r1], 1;
    FIRST: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0; @!%p2 bra FIRST;
    mbarrier.arrive.shared::cta.b64 _, [%r1];
    SECOND: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 1; @!%p2 bra SECOND;
    mov.u32 %r3, 5; st.global.u32 [%rd1], %r3;
    END:)";
  std::string complete = body;
  complete.erase(complete.find(".noComplete"), 11);
  Outcome outcome = run_async(complete, kAtOnce, {}, 2);
  EXPECT_EQ(outcome.fault.error, 0) << outcome.fault.text;
  EXPECT_EQ(outcome.out[0], 5u);
  // The first thread's arrival is the last one, which .noComplete rules out.
  outcome = run_async(body, kAtOnce, {}, 2);
  EXPECT_NE(outcome.fault.text.find("with .noComplete completes the phase"), std::string::npos)
      << outcome.fault.text;
  const std::string twice = R"(mov.u32 %r1, barrier; mbarrier.init.shared::cta.b64 [%r1], 1;
    mbarrier.arrive_drop.shared::cta.b64 _, [%r1], 2;)";
  EXPECT_NE(run_async(twice, kAtOnce).fault.text.find("it expects 1"), std::string::npos);
}

TEST(PtxDeviceAsync, BulkReductionsAdd) {
  const std::string body = R"(
    mov.u32 %r2, pool; st.shared.v4.u32 [%r2], {5, 6, 7, 8}; fence.proxy.async.shared::cta;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r2], 16; cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0; ld.global.u32 %r3, [%rd2+4]; st.global.u32 [%rd1], %r3;)";
  for (const ptx::Lateness late : {kAtOnce, kLate}) EXPECT_EQ(run_async(body, late).out[0], 107u);
}

// A copy of a box of 4 x 2 at (4, -1) of a tensor of 6 x 5 floats: half of it is outside.
class TensorCopy {
 public:
  TensorCopy() {
    for (size_t n = 0; n < tensor_.size(); ++n) tensor_[n] = static_cast<float>(n);
    tensor_[4] = std::bit_cast<float>(0x3F801000u);  // a tie between two numbers of tf32
  }

  // `fence` stands behind the initialisation of the mbarrier.
  ptx::Fault run(const std::string& fence, uint8_t type = 7, ptx::TensorTies ties = ptx::TensorTies::even) {
    Program program(".version 8.5\n.target sm_90a\n.address_size 64\n" + kPool +
                    ".shared .align 8 .b64 barrier;\n"
                    ".visible .entry k(.param .u64 out, .param .align 64 .b8 map[128]) {\n"
                    ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"
                    "ld.param.u64 %rd1, [out]; mov.b64 %rd2, map; cvta.param.u64 %rd3, %rd2;\n"
                    "mov.u32 %r1, barrier; mov.u32 %r2, pool;\n"
                    "mbarrier.init.shared::cta.b64 [%r1], 1;" +
                    fence + R"(
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 32;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2],
      [%rd3, {4, -1}], [%r1];
    WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;
    mov.u32 %r3, 0;
    COPY: add.u32 %r4, %r2, %r3; ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd1], %r5;
    add.u32 %r3, %r3, 4; add.s64 %rd1, %rd1, 4; setp.lt.u32 %p1, %r3, 32; @%p1 bra COPY;
    ret;
  })");
    program.launch.shape.dynamic_shared = 1024;
    program.launch.tensor_ties = ties;
    program.launch.late = kLate;
    TestMemory memory;
    memory.add(out);
    memory.add(tensor_);
    struct alignas(64) Map {
      ptx::TensorMap map;
      char rest[128 - sizeof(ptx::TensorMap)];
    };
    return program.run(memory, Parameters(out.data(), Map{map(type), {}}));
  }

  std::vector<uint32_t> out = std::vector<uint32_t>(8);

 private:
  ptx::TensorMap map(uint8_t type) const {
    ptx::TensorMap made{};
    made.magic = ptx::kTensorMapMagic;
    made.data = reinterpret_cast<uint64_t>(tensor_.data());
    made.rank = 2;
    made.type = type;
    made.size[0] = 6 - 1;
    made.size[1] = 5 - 1;
    made.stride[0] = 32;
    made.box[0] = 4;
    made.box[1] = 2;
    made.step[0] = made.step[1] = 1;
    return made;
  }
  std::vector<float> tensor_ = std::vector<float>(8 * 5);
};
const char* const kFenceInit = "fence.mbarrier_init.release.cluster;";

TEST(PtxDeviceAsync, TensorCopiesFillTheOutsideAndConvert) {
  const auto loaded = [&](uint8_t type, ptx::TensorTies ties) {
    TensorCopy copy;
    const ptx::Fault fault = copy.run(kFenceInit, type, ties);
    EXPECT_EQ(fault.error, 0) << fault.text;
    return copy.out;
  };
  constexpr uint8_t kFloat = 7, kTf32 = 11;
  const std::vector<uint32_t> plain = loaded(kFloat, ptx::TensorTies::even);
  EXPECT_EQ(plain, (std::vector<uint32_t>{0, 0, 0, 0, 0x3F801000, std::bit_cast<uint32_t>(5.0f), 0, 0}));
  EXPECT_EQ(loaded(kTf32, ptx::TensorTies::even)[4], 0x3F800000u);
  EXPECT_EQ(loaded(kTf32, ptx::TensorTies::away)[4], 0x3F802000u);
}

TEST(PtxDeviceAsync, AnMBarrierIsVisibleToTensorCopiesBehindAFence) {
  for (const char* const fence : {kFenceInit, "fence.proxy.async.shared::cta;"})
    EXPECT_EQ(TensorCopy().run(fence).error, 0) << fence;
  for (const char* const other : {"", "fence.acq_rel.cluster;"}) {  // of the generic proxy alone
    const ptx::Fault fault = TensorCopy().run(other);
    EXPECT_NE(fault.text.find("neither fence.mbarrier_init nor fence.proxy.async"), std::string::npos)
        << other << fault.text;
  }
}

// 1 + x + y by a product with two columns, (x, y) being: 1.5 * 2^-24 and 0, of which only the rounding to
// nearest is more than 1; and 2^-24 twice, of which only the terms that are cut before the sum are less.
TEST(PtxDeviceAsync, SumsOfTensorCoresRoundAsTheSettingSays) {
  const std::string body = R"(
    mov.u32 %r1, 0x3F800000; ld.global.u32 %r2, [%rd1]; ld.global.u32 %r8, [%rd1+4]; mov.u32 %r3, 0;
    mov.b32 %f1, %r1; mov.b32 %f5, %r1; mov.b32 %f6, %r1; mov.b32 %f7, %r1; mov.b32 %f8, %r1;
    mov.u32 %r4, %laneid; and.b32 %r5, %r4, 3; setp.eq.u32 %p1, %r5, 0; setp.eq.u32 %p2, %r5, 1;
    selp.b32 %r6, %r8, %r3, %p2;   // A: x in the first column, y in the second
    selp.b32 %r6, %r2, %r6, %p1;
    setp.lt.u32 %p3, %r5, 2;
    selp.b32 %r7, %r1, %r3, %p3;   // B: 1 in the first two rows
    mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4},
      {%r6, %r6}, {%r7}, {%f5, %f6, %f7, %f8};
    st.global.f32 [%rd1+8], %f1;)";
  const auto sum = [&](uint32_t x, uint32_t y, ptx::TensorSums sums) {
    Program program(kernel(body));
    program.launch.shape.block[0] = 32;
    program.launch.tensor_sums = sums;
    std::vector<uint32_t> out = {x, y, 0};
    const ptx::Fault fault = program.run(out);
    EXPECT_EQ(fault.error, 0) << fault.text;
    return out[2];
  };
  constexpr uint32_t kOne = 0x3F800000, kMore = 0x3F800001, kThreeHalves = 0x33C00000, kSmall = 0x33800000;
  EXPECT_EQ(sum(kThreeHalves, 0, ptx::TensorSums::nearest), kMore);
  EXPECT_EQ(sum(kThreeHalves, 0, ptx::TensorSums::truncated), kOne);
  EXPECT_EQ(sum(kThreeHalves, 0, ptx::TensorSums::aligned), kOne);
  EXPECT_EQ(sum(kSmall, kSmall, ptx::TensorSums::nearest), kMore);
  EXPECT_EQ(sum(kSmall, kSmall, ptx::TensorSums::truncated), kMore);
  EXPECT_EQ(sum(kSmall, kSmall, ptx::TensorSums::aligned), kOne);
}

}  // namespace
}  // namespace ptx_test
