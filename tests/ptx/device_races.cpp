// Races between warps, with Checks::races: each order of the memory model with a right program, and with the
// same without what makes the order.
#include "device_program.h"

namespace ptx_test {
namespace {

struct RaceCase {
  std::string name;
  std::string before, order, after;  // `order` makes the difference
  std::string wrong_order;           // instead of it
  std::string part;                  // of the fault
  uint32_t threads = 64;
  uint32_t blocks = 1;
  uint32_t cluster = 1;
  bool together = false;
};

ptx::Fault run_case(const RaceCase& c, const std::string& order) {
  Program program(kernel(c.before + order + c.after, kPool + ".shared .align 8 .b64 barrier;\n"));
  program.launch.shape = {{c.blocks, 1, 1}, {c.threads, 1, 1}, {c.cluster, 1, 1}, 1024};
  program.launch.checks.races = true;
  program.launch.checks.unwritten = false;
  program.launch.races = ptx::make_race_log();
  program.together = c.together;
  std::vector<uint32_t> out(256);
  return program.run(out);
}

void check_races(const RaceCase& c) {
  SCOPED_TRACE(c.name);
  const ptx::Fault right = run_case(c, c.order);
  EXPECT_EQ(right.error, 0) << right.text;
  const ptx::Fault wrong = run_case(c, c.wrong_order);
  EXPECT_EQ(wrong.error, kLaunchFailure);
  EXPECT_NE(wrong.text.find(c.part), std::string::npos) << wrong.text;
}

// Each thread writes its word, and reads that of a thread of the other warp; %r3 = its word, %r5 = the other.
const std::string kExchange = R"(
  mov.u32 %r1, %tid.x; mov.u32 %r2, pool; shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2;
  xor.b32 %r4, %r1, 32; shl.b32 %r5, %r4, 2; add.u32 %r5, %r5, %r2;
  st.shared.u32 [%r3], %r1;
  )";

TEST(PtxDeviceRaces, ABarrierOrdersSharedMemory) {
  const std::string read = "ld.shared.u32 %r6, [%r5];\n";
  // The second warp runs behind the first one, so that only its read is without an order.
  check_races({"a read behind a write", kExchange, "bar.sync 0;", read, "bar.arrive 1, 128;",
               "race at shared address"});
  check_races({"a write behind a read", kExchange + "bar.sync 0;\n" + read, "bar.sync 0;",
               "st.shared.u32 [%r3], 1;\n", "", "race at shared address"});
  check_races({"two writes", kExchange, "bar.sync 0;", "st.shared.u32 [%r5], 1;\n", "bar.arrive 1, 128;",
               "race at shared"});
}

TEST(PtxDeviceRaces, AnMBarrierOrdersArrivalsBeforeWaits) {
  const std::string start = R"(
    mov.u32 %r10, barrier; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra INIT;
    mbarrier.init.shared::cta.b64 [%r10], 64;
    INIT: bar.sync 0;
    )" + kExchange;
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 _, [%r10];\n",
                    wait = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r10], 0; @!%p2 bra WAIT;\n";
  check_races(
      {"a phase", start, arrive + wait, "ld.shared.u32 %r6, [%r5];\n", arrive, "race at shared address"});
}

// Block 0 writes a word and sets a flag; block 1 waits for the flag and reads the word.
RaceCase message(const std::string& name, const std::string& set, const std::string& wrong_set,
                 const std::string& wait) {
  const std::string before = R"(
    mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra READER;
    st.global.u32 [%rd1+128], 5;
    )";
  const std::string after = R"(
    bra END;
    READER:
    )" + wait + R"(
    ld.global.u32 %r3, [%rd1+128];
    END:
    )";
  return {name, before, set, after, wrong_set, "race at global address", 1, 2, 1, true};
}

TEST(PtxDeviceRaces, FencesAndStrongAccessesOrderGlobalMemory) {
  const std::string spin =
      "WAIT: ld.relaxed.gpu.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;\n";
  const std::string acquire =
      "WAIT: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;\n";
  check_races(message(
      "membar", "membar.gl; st.volatile.global.u32 [%rd1], 1;", "st.volatile.global.u32 [%rd1], 1;",
      "WAIT: ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT; membar.gl;\n"));
  check_races(message("release and acquire", "st.release.gpu.global.u32 [%rd1], 1;",
                      "st.relaxed.gpu.global.u32 [%rd1], 1;", acquire));
  check_races(message("an atomic operation that releases", "red.release.gpu.global.add.u32 [%rd1], 1;",
                      "red.relaxed.gpu.global.add.u32 [%rd1], 1;", acquire));
  check_races(message("fences and atomic operations",
                      "fence.acq_rel.gpu; atom.global.exch.b32 %r4, [%rd1], 1;",
                      "atom.global.exch.b32 %r4, [%rd1], 1;", spin + "fence.acq_rel.gpu;\n"));
  // Without the fence of the reader.
  const RaceCase reader = message("", "membar.gl; st.volatile.global.u32 [%rd1], 1;", "", spin);
  EXPECT_EQ(run_case(reader, reader.order).error, kLaunchFailure);
}

TEST(PtxDeviceRaces, TheBarrierOfAClusterOrdersItsMemory) {
  check_races(
      {"a cluster", R"(
    mov.u32 %r2, pool; mov.u32 %r3, %cluster_ctarank; st.shared.u32 [%r2], %r3;
    xor.b32 %r4, %r3, 1; mapa.shared::cluster.u32 %r5, %r2, %r4;
    )",
       "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
       "ld.shared::cluster.u32 %r6, [%r5]; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n",
       "setp.eq.u32 %p1, %r3, 0; @%p1 nanosleep.u32 10;", "race at shared address", 32, 2, 2});
}

TEST(PtxDeviceRaces, BlocksHaveNoOrder) {
  const RaceCase plain{"", "mov.u32 %r1, %ctaid.x; st.global.u32 [%rd1], %r1;", "", "", "", "", 1, 2};
  EXPECT_EQ(run_case(plain, "").error, kLaunchFailure);
  const RaceCase atomic{"", "red.global.add.u32 [%rd1], 1;", "", "", "", "", 64, 4};
  EXPECT_EQ(run_case(atomic, "").error, 0);
  // Neighbouring bytes of one word are no race.
  const RaceCase bytes{
      "", "mov.u32 %r1, %ctaid.x; cvt.u64.u32 %rd3, %r1; add.s64 %rd3, %rd3, %rd1; st.global.u8 [%rd3], 1;",
      "", "",
      "", "",
      1,  4};
  EXPECT_EQ(run_case(bytes, "").error, 0);
}

}  // namespace
}  // namespace ptx_test
