// 128-bit values, pairs of floats, and asynchronous stores to the shared memory of a cluster.
#include <atomic>
#include <bit>
#include <thread>

#include "device_program.h"

namespace ptx_test {
namespace {

const std::string kWide = ".reg .b128 %q<4>;\n";

TEST(PtxDeviceWide, ValuesMoveThroughRegistersAndMemory) {
  Program program(kernel(kWide + R"(
    mov.u32 %r1, pool;
    ld.global.b128 %q0, [%rd2]; mov.b128 {%rd3, %rd4}, %q0; st.global.v2.b64 [%rd1], {%rd4, %rd3};
    mov.b128 %q1, {%rd4, 5}; st.shared.b128 [%r1+16], %q1; ld.volatile.shared.b128 %q2, [%r1+16];
    mov.b128 %q3, %q2; st.relaxed.gpu.global.b128 [%rd1+16], %q3;)",
                         kPool));
  program.launch.shape.dynamic_shared = 64;
  std::vector<uint64_t> in = {7, 8}, out(4);
  const ptx::Fault fault = program.run(out, in);
  ASSERT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out, (std::vector<uint64_t>{8, 7, 8, 5}));
}

TEST(PtxDeviceWide, AccessesAreAlignedTo16Bytes) {
  for (const char* const body : {"ld.global.b128 %q0, [%rd1+8];", "st.global.b128 [%rd1+8], %q0;",
                                 "atom.global.exch.b128 %q0, [%rd1+8], %q1;"}) {
    Program program(kernel(kWide + body));
    std::vector<uint64_t> out(4);
    EXPECT_EQ(program.run(out).error, kMisaligned) << body;
  }
}

TEST(PtxDeviceWide, AtomicsReturnWhatWasThere) {
  Program program(kernel(kWide + R"(
    mov.b128 %q0, {1, 2}; mov.b128 %q1, {3, 4}; mov.b128 %q2, {5, 6};
    atom.relaxed.gpu.global.exch.b128 %q3, [%rd1], %q0; st.global.b128 [%rd1+16], %q3;  // {9, 9} -> {1, 2}
    atom.relaxed.gpu.global.cas.b128 %q3, [%rd1], %q1, %q2; st.global.b128 [%rd1+32], %q3;   // stays
    atom.relaxed.gpu.global.cas.b128 %q3, [%rd1], %q0, %q2; st.global.b128 [%rd1+48], %q3;)"));
  std::vector<uint64_t> out(8, 9);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out, (std::vector<uint64_t>{5, 6, 9, 9, 1, 2, 1, 2}));
}

// Each thread of several workers adds one to the lower half and subtracts it from the upper one. A value that
// is half of another's would break their sum.
TEST(PtxDeviceWide, WorkersExchangeWholeValues) {
  Program program(kernel(kWide + R"(
    TRY: ld.relaxed.gpu.global.b128 %q0, [%rd1]; mov.b128 {%rd3, %rd4}, %q0;
    add.u64 %rd5, %rd3, %rd4; setp.ne.u64 %p1, %rd5, 0; @%p1 trap;
    add.u64 %rd3, %rd3, 1; sub.u64 %rd4, %rd4, 1; mov.b128 %q1, {%rd3, %rd4};
    atom.relaxed.gpu.global.cas.b128 %q2, [%rd1], %q0, %q1; mov.b128 {%rd5, %rd6}, %q2;
    add.u64 %rd5, %rd5, 1; setp.ne.u64 %p1, %rd5, %rd3; @%p1 bra TRY;)"));
  program.launch.shape = {{500, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0};
  std::vector<uint64_t> out(4);
  TestMemory memory;
  memory.add(out);
  const size_t at = reinterpret_cast<uintptr_t>(out.data()) % 16 / 8;
  const Parameters parameters(out.data() + at, out.data());
  program.launch.memory = &memory;
  program.launch.parameters = parameters.data();
  std::atomic<uint64_t> next{0};
  std::atomic<int> faults{0};
  const auto work = [&] {
    try {
      for (uint64_t cluster; (cluster = next++) < 500;) ptx::run_cluster(program.launch, cluster);
    } catch (const ptx::Fault&) {
      ++faults;
    }
  };
  std::thread first(work), second(work), third(work);
  for (std::thread* const worker : {&first, &second, &third}) worker->join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(out[at], 16000u);
  EXPECT_EQ(out[at + 1], static_cast<uint64_t>(-16000));
}

uint64_t pair_of(float lower, float upper) {
  return std::bit_cast<uint32_t>(lower) | uint64_t{std::bit_cast<uint32_t>(upper)} << 32;
}

TEST(PtxDeviceWide, PairsOfFloats) {
  struct Case {
    std::string instruction;
    float lower, upper;
  };
  const float above = 1 + 0x1p-23f, tiny = 0x1p-127f;
  for (const Case& one : {Case{"add.rn.f32x2 %rd0, %rd10, %rd11", 1, 7},
                          {"sub.f32x2 %rd0, %rd10, %rd11", 1 - 0x1p-24f, -3},
                          {"mul.rn.f32x2 %rd0, %rd10, %rd11", 0x1p-24f, 10},
                          {"fma.rn.f32x2 %rd0, %rd10, %rd11, %rd12", 0x1p-24f + 3, 14},
                          {"add.rp.f32x2 %rd0, %rd10, %rd11", above, 7},
                          {"add.rz.f32x2 %rd0, %rd10, %rd11", 1, 7},
                          {"add.rm.f32x2 %rd0, %rd10, %rd13", 1 - 0x1p-24f, 2},
                          {"fma.rp.f32x2 %rd0, %rd10, %rd11, %rd12", 3 + 0x1p-22f, 14},
                          {"mul.f32x2 %rd0, %rd14, %rd10", tiny, tiny * 2},
                          {"mul.ftz.f32x2 %rd0, %rd14, %rd10", 0, 0}}) {
    std::string body = "mov.u64 %rd0, 0;\n";
    const std::pair<int, uint64_t> sources[] = {{10, pair_of(1, 2)},
                                                {11, pair_of(0x1p-24f, 5)},
                                                {12, pair_of(3, 4)},
                                                {13, pair_of(-0x1p-26f, 0)},
                                                {14, pair_of(tiny, tiny)}};
    for (const auto& [index, value] : sources)
      body += "mov.b64 %rd" + std::to_string(index) + ", " + std::to_string(value) + ";\n";
    Program program(kernel(body + one.instruction + "; st.global.b64 [%rd1], %rd0;"));
    std::vector<uint64_t> out(1);
    const ptx::Fault fault = program.run(out);
    ASSERT_EQ(fault.error, 0) << fault.text;
    EXPECT_EQ(out[0], pair_of(one.lower, one.upper)) << one.instruction;
  }
}

// Each block of a cluster of two sends its rank to the other, 16 bytes of a lane, and adds to a sum there.
const std::string kSend = R"(
  mov.u32 %r1, barrier; mov.u32 %r2, pool; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1;
  mov.u32 %r10, 7; st.shared.u32 [%r2+32], %r10;
  mbarrier.init.shared::cta.b64 [%r1], 1; fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 20;
  mapa.shared::cluster.u32 %r5, %r1, %r4; mapa.shared::cluster.u32 %r6, %r2, %r4; add.u32 %r7, %r3, 100;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r6+16], {%r7, 1, 2, 3}, [%r5];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6+32], %r7, [%r5];
  )";
const std::string kWait = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;\n";
const std::string kRead = R"(
  ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r2+16]; ld.shared.u32 %r15, [%r2+32];
  mul.wide.u32 %rd3, %r3, 32; add.s64 %rd3, %rd1, %rd3;
  st.global.v4.u32 [%rd3], {%r11, %r12, %r13, %r14}; st.global.u32 [%rd3+16], %r15;)";
const std::string kEnd = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";

ptx::Fault send(const std::string& body, ptx::Lateness late, std::vector<uint32_t>& out) {
  Program program(kernel(body, kPool + ".shared .align 8 .b64 barrier;\n"));
  program.launch.shape = {{2, 1, 1}, {1, 1, 1}, {2, 1, 1}, 64};
  program.launch.late = late;
  program.launch.seed = 4;
  return program.run(out);
}

TEST(PtxDeviceAsyncStores, ReachTheOtherBlockUntilItsPhaseEnds) {
  for (const ptx::Lateness late : {ptx::Lateness{}, {true, true, true, false}, {true, true, true, true}}) {
    std::vector<uint32_t> out(16);
    const ptx::Fault fault = send(kSend + kWait + kRead + kEnd, late, out);
    ASSERT_EQ(fault.error, 0) << fault.text;
    for (const uint32_t rank : {0u, 1u}) {
      const uint32_t* const own = &out[8 * rank];
      EXPECT_EQ(std::vector<uint32_t>(own, own + 5),
                (std::vector<uint32_t>{101 - rank, 1, 2, 3, 7 + 101 - rank}));
    }
  }
}

TEST(PtxDeviceAsyncStores, AReadBeforeTheWaitIsAFault) {
  std::vector<uint32_t> out(16);
  const ptx::Fault fault = send(kSend + kRead + kWait + kEnd, {true, true, true, false}, out);
  EXPECT_EQ(fault.error, kLaunchFailure);
  EXPECT_NE(fault.text.find("only an asynchronous copy that has not been waited for"), std::string::npos)
      << fault.text;
}

TEST(PtxDeviceAsyncStores, TheMBarrierIsOfTheSameBlock) {
  std::vector<uint32_t> out(16);
  std::string wrong = kSend;
  wrong.replace(wrong.find("[%r5]"), 5, "[%r1]");
  const ptx::Fault fault = send(wrong + kWait + kEnd, {}, out);
  EXPECT_EQ(fault.error, kLaunchFailure);
  EXPECT_NE(fault.text.find("which is of another block"), std::string::npos) << fault.text;
}

TEST(PtxDeviceAsyncStores, OtherFormsAreNotSupported) {
  for (
      const char* const form :
      {"st.async.shared::cluster.b32 [%r1], %r2, [%r3];",
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r1], %h2, [%r3];",
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r1], {%rd1, %rd1, %rd1, %rd1}, [%r3];",
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r1], %f2, [%r3];"}) {
    Program program{kernel(form)};
    EXPECT_EQ(program.launch.kernel->unsupported.size(), 1u) << form;
  }
}

}  // namespace
}  // namespace ptx_test
