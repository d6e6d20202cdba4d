// Wrong programs: each documented mistake is a fault that names the values and the place.
#include "device_program.h"

namespace ptx_test {
namespace {

struct Wrong {
  std::string body;
  int error;
  std::string part;  // of the text
  uint32_t threads = 1;
  std::string declarations = "";
  uint32_t dynamic_shared = 0;
  uint32_t cluster = 1;
};

void check_faults(const std::vector<Wrong>& programs) {
  for (const Wrong& wrong : programs) {
    Program program(kernel(wrong.body, wrong.declarations));
    program.launch.shape.block[0] = wrong.threads;
    program.launch.shape.dynamic_shared = wrong.dynamic_shared;
    program.launch.shape.grid[0] = program.launch.shape.cluster[0] = wrong.cluster;
    program.launch.late = {true, true, true, false};
    std::vector<uint32_t> out(64), in(64);
    const ptx::Fault fault = program.run(out, in);
    EXPECT_EQ(fault.error, wrong.error) << wrong.body << "\n" << fault.text;
    EXPECT_NE(fault.text.find(wrong.part), std::string::npos) << wrong.body << "\n" << fault.text;
  }
}

const std::string kOneMBarrier = ".shared .align 8 .b64 barrier;\n";

// The fault says what was not understood. An instruction that is not executed is none.
TEST(PtxDeviceFaults, WhatIsNotSupportedIsNamed) {
  const std::pair<std::string, std::string> wrong[] = {
      {"add.u32 %r1, %r1, nowhere;", "operand 'nowhere' is neither declared nor a number"},
      {"mov.u32 %r1, nowhere;", "operand 'nowhere' is neither declared nor a number"},
      {"mov.u32 nowhere, 1;", "destination 'nowhere' is not declared"},
      {"ld.global.u32 %r1, [nowhere+4];", "address '[nowhere+4]' is not understood"},
      {".sreg .b32 a; mov.u32 %r1, 1;", "the interpreter does not know the directive .sreg"},
      {"tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd3, {%r1}];",
       "the interpreter does not support this instruction"}};
  for (const auto& [body, text] : wrong) {
    Program program(kernel(body));
    std::vector<uint32_t> out(1);
    program.allow_unsupported = true;
    const ptx::Fault fault = program.run(out);
    EXPECT_EQ(fault.error, kNotSupported) << body;
    EXPECT_NE(fault.text.find(text), std::string::npos) << body << "\n" << fault.text;
    Program skipped(kernel("bra AWAY; " + body + " AWAY:"));
    skipped.allow_unsupported = true;
    EXPECT_EQ(skipped.run(out).error, 0) << body;
  }
}

// A function that calls itself as often as its argument says, and one that has no body.
TEST(PtxDeviceFaults, CallsThatAreNotSupportedAreNamed) {
  const std::string declarations =
      ".func deeper(.param .b32 left) {\n.reg .b32 %r<4>; .reg .pred %p<2>;\n"
      "ld.param.u32 %r1, [left]; setp.eq.u32 %p1, %r1, 0; @%p1 bra END; sub.u32 %r1, %r1, 1;\n"
      "{.param .b32 less; st.param.u32 [less], %r1; call.uni deeper, (less);}\nEND: ret;\n}\n"
      ".extern .func absent;\n.visible .entry child() { ret; }\n";
  const auto fault_of = [&](const std::string& body) {
    Program program(kernel(body, declarations));
    program.allow_unsupported = true;
    std::vector<uint32_t> out(1);
    return program.run(out);
  };
  const std::string call = "{.param .b32 left; st.param.u32 [left], %r1; call.uni deeper, (left);}";
  EXPECT_EQ(fault_of("mov.u32 %r1, 15;" + call).error, 0);
  const std::pair<std::string, std::string> wrong[] = {
      {"mov.u32 %r1, 16;" + call, "functions are called more than 16 deep in each other"},
      {"call.uni absent;", "the interpreter does not know the function absent"},
      {"mov.u64 %rd3, child;",
       "the address of the kernel child: the interpreter has no launches by kernels"}};
  for (const auto& [body, text] : wrong) {
    const ptx::Fault fault = fault_of(body);
    EXPECT_EQ(fault.error, kNotSupported) << body;
    EXPECT_NE(fault.text.find(text), std::string::npos) << body << "\n" << fault.text;
  }
}

TEST(PtxDeviceFaults, AccessesOutsideOfMemory) {
  check_faults(
      {{"st.global.u32 [%rd1+256], 1;", kIllegalAddress, "store of 4 bytes"},
       {"ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+256];", kIllegalAddress, "load of 16 bytes"},
       {"mov.u64 %rd3, 64; ld.global.u32 %r1, [%rd3];", kIllegalAddress, "0x40"},
       {"mov.u64 %rd3, table; cvta.const.u64 %rd3, %rd3; st.u32 [%rd3], 1;", kIllegalAddress,
        "constant memory", 1, ".const .align 4 .u32 table[2] = {1, 2};\n"},
       {"atom.global.add.u32 %r1, [%rd1+1024], 1;", kIllegalAddress, "atomic operation"},
       {"st.shared.u32 [pool+64], 1;", kIllegalAddress, "the block has 64 bytes", 1, kPool, 64},
       {"mov.u32 %r1, 0; st.shared.u32 [%r1], 1;", kIllegalAddress, "shared memory at 0x0", 1, kPool, 64},
       {".local .b32 own[2]; mov.u32 %r1, own; add.u32 %r1, %r1, 16; st.local.u32 [%r1], 1;", kIllegalAddress,
        "local memory"},
       {"mov.u64 %rd3, 1; ld.param.u64 %rd4, [%rd3];", kIllegalAddress, "outside of the parameters"}});
}

// One lane of several is wrong.
TEST(PtxDeviceFaults, TheLaneAndItsThreadAreNamed) {
  for (const std::string access :
       {"st.global.u32 [%rd3], 1;", "ld.global.u32 %r2, [%rd3];", "atom.global.add.u32 %r2, [%rd3], 1;"}) {
    Program program(
        kernel("mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mad.lo.u32 %r1, %r2, 20, %r1;\n"
               "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd3, %rd1, %rd3;" +
               access));
    program.launch.shape.block[0] = 20;
    program.launch.shape.block[1] = 3;
    std::vector<uint32_t> out(59);
    TestMemory memory;
    memory.add(out);
    const ptx::Fault fault = program.run(memory, Parameters(out.data(), out.data()));
    EXPECT_EQ(fault.error, kIllegalAddress);
    EXPECT_NE(fault.text.find("warp 1, lane 27, thread (19, 2, 0) at " + access.substr(0, access.size() - 1)),
              std::string::npos)
        << fault.text;
  }
}

TEST(PtxDeviceFaults, Misalignment) {
  check_faults(
      {{"st.global.u32 [%rd1+2], 1;", kMisaligned, "misaligned store of 4 bytes"},
       {"ld.global.v2.u32 {%r1, %r2}, [%rd1+4];", kMisaligned, "misaligned load of 8 bytes"},
       {"st.shared.u32 [pool+2], 1;", kMisaligned, "not a multiple of 4", 1, kPool, 64},
       {"mov.u32 %r1, pool; cp.async.cg.shared.global [%r1], [%rd1+8], 16;", kMisaligned, "cp.async from", 1,
        kPool, 64},
       {"mov.u32 %r1, pool; mov.u32 %r2, 24; cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], %r2;",
        kMisaligned, "multiples of 16", 1, kPool, 64}});
}

TEST(PtxDeviceFaults, MissingLanes) {
  const std::string half = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16;\n";
  check_faults(
      {{half + "@%p1 bar.sync 0;", kLaunchFailure, ".aligned instruction is executed by lanes 0xffff", 32},
       {half + "@!%p1 bra AWAY; bar.sync 0; bra END; AWAY: bar.sync 1; END:", kLaunchFailure,
        "lanes 0xffff at bar.sync 0; lanes 0xffff0000 at bar.sync 1", 32},
       {half + "@%p1 bra PART; bar.sync 0; PART: ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [pool];",
        kLaunchFailure,
        "lanes 0xffff at ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [pool]; lanes 0xffff0000 at "
        "bar.sync 0",
        32, kPool, 1024},
       {half + "@%p1 shfl.sync.idx.b32 %r2, %r1, 20, 31, 0xFFFF;", kLaunchFailure, "reads lane 20", 32},
       {half + "@!%p1 bra AWAY; bar.warp.sync -1; AWAY: bar.sync 0;", kLaunchFailure,
        "lanes 0xffff at bar.warp.sync -1; lanes 0xffff0000 at bar.sync 0", 32},
       {"shfl.sync.idx.b32 %r2, %r1, 0, 31, 0xFFFF;", kLaunchFailure,
        "lanes 0xffff0000 execute an instruction for the lanes 0xffff, to which they do not belong", 32},
       {"vote.sync.ballot.b32 %r2, %p1, 1;", kLaunchFailure, "for the lanes 0x1, to which they do not", 32},
       {"bar.warp.sync 0xFF;", kLaunchFailure, "lanes 0xffffff00 execute", 32}});
}

// What a whole warp executes, after a part of it has exited. Lanes that were never there may be missing, and
// a barrier counts the live ones.
TEST(PtxDeviceFaults, InstructionsOfWholeWarpsAfterAnExit) {
  const std::string half = "mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 16; @%p1 ret;\n";
  const std::string filled =
      "mov.u32 %r1, %tid.x; mov.u32 %r2, pool; shl.b32 %r3, %r1, 5; add.u32 %r3, %r3, %r2;\n"
      "st.shared.v4.u32 [%r3], {%r1, %r1, %r1, %r1};"
      "st.shared.v4.u32 [%r3+16], {%r1, %r1, %r1, %r1};\n";
  const std::string load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [pool];";
  const std::string product =
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r4, %r4}, {%r4}, "
      "{%f1, %f2, %f3, %f4};";
  const std::string exited = "after lanes 0xffff0000 of its warp have exited";
  check_faults({{filled + half + load, kLaunchFailure, exited, 32, kPool, 1024},
                {filled + half + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [pool], {%r4};", kLaunchFailure,
                 exited, 32, kPool, 1024},
                {half + "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r4;", kLaunchFailure, exited, 32},
                {half + product, kLaunchFailure, exited, 32},
                {half + "wgmma.fence.sync.aligned;", kLaunchFailure, exited, 32},
                {half + "setmaxnreg.inc.sync.aligned.u32 80;", kLaunchFailure, exited, 32}});
  for (const auto& [body, threads] : {std::pair(filled + load + product, 16u),
                                      {half + "bar.sync 0;", 32u},
                                      {half + "barrier.cluster.arrive.aligned; barrier.cluster.wait;", 32u},
                                      {half + "setp.eq.u32 %p2, %r1, 99; @%p2 " + product, 32u}}) {
    Program program(kernel(body, kPool));
    program.launch.shape.block[0] = threads;
    program.launch.shape.dynamic_shared = 1024;
    std::vector<uint32_t> out(1);
    const ptx::Fault fault = program.run(out);
    EXPECT_EQ(fault.error, 0) << body << "\n" << fault.text;
  }
}

TEST(PtxDeviceFaults, Barriers) {
  check_faults(
      {{"bar.sync 0, 48;", kLaunchFailure, "not a multiple of 32", 64},
       {"mov.u32 %r1, 16; barrier.sync %r1;", kLaunchFailure, "barrier 16 does not exist", 32},
       {"mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra A; bar.sync 1, 96; bra END; A: bar.sync "
        "1, 64; END:",
        kLaunchFailure, "after threads arrived there for", 64},
       {"bar.sync 0, 128;", kLaunchFailure, "deadlock", 64},
       {"mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra END; bar.sync 1, 64; END:", kLaunchFailure,
        "wait at barrier 1", 64},
       {"barrier.cluster.wait.aligned;", kLaunchFailure, "has not arrived", 32},
       {"barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;", kLaunchFailure,
        "arrives a second time", 32}});
}

TEST(PtxDeviceFaults, MBarriers) {
  const std::string start = "mov.u32 %r1, barrier; mbarrier.init.shared::cta.b64 [%r1], 1;\n";
  check_faults({{"mov.u32 %r1, barrier; mbarrier.arrive.shared::cta.b64 %rd3, [%r1];", kLaunchFailure,
                 "no mbarrier", 1, kOneMBarrier},
                {"mov.u32 %r1, barrier; mbarrier.init.shared::cta.b64 [%r1], 0;", kLaunchFailure,
                 "count of 0", 1, kOneMBarrier},
                {start + "mbarrier.arrive.shared::cta.b64 %rd3, [%r1], 2;", kLaunchFailure,
                 "more arrivals than its count of 1", 1, kOneMBarrier},
                {start + "mbarrier.inval.shared::cta.b64 [%r1]; mbarrier.arrive.shared::cta.b64 _, [%r1];",
                 kLaunchFailure, "was invalidated", 1, kOneMBarrier},
                {start + "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT;",
                 kLaunchFailure, "(the mbarrier at 0x400, whose phase 0 lacks 1 of 1 arrivals and 0 bytes", 1,
                 kOneMBarrier},
                {start + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64; mov.u32 %r3, 0;\n"
                         "WAIT: mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], %r3; @!%p1 bra WAIT;",
                 kLaunchFailure, "whose phase 0 lacks 0 of 1 arrivals and 64 bytes", 1, kOneMBarrier},
                {start + "st.shared.u32 [%r1+4], %r1; mbarrier.arrive.shared::cta.b64 _, [%r1];",
                 kLaunchFailure, "mbarrier at 0x400: something else has been written there", 1, kOneMBarrier},
                {start + "fence.mbarrier_init.release.cluster; st.shared.u32 [%r1], %r1; mov.u32 %r2, pool; "
                         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                         " [%r2], [%rd1], 64, [%r1]; WAIT: bra WAIT;",
                 kLaunchFailure, "something else has been written there", 1, kOneMBarrier + kPool, 64},
                {start + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 0x100000;", kLaunchFailure,
                 "bytes", 1, kOneMBarrier},
                {"mov.u32 %r1, barrier; mov.u32 %r2, pool; "
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%r2], [%rd1], 64, [%r1]; WAIT: bra WAIT;",
                 kLaunchFailure, "where no mbarrier is", 1, kOneMBarrier + kPool, 64}});
}

// The same memory may have an mbarrier, other values, and an mbarrier again.
TEST(PtxDeviceFaults, MemoryOfAnMBarrierMayBeUsedAgain) {
  const std::string init = "mbarrier.init.shared::cta.b64 [%r1], 1;\n",
                    arrive = "mbarrier.arrive.shared::cta.b64 _, [%r1];\n";
  Program program(kernel("mov.u32 %r1, barrier;" + init + arrive +
                             "mbarrier.inval.shared::cta.b64 [%r1]; st.shared.u32 [%r1], 5;"
                             "ld.shared.u32 %r2, [%r1]; st.global.u32 [%rd1], %r2;" +
                             init + "st.shared.u32 [%r1], 6;" + init + arrive,
                         kOneMBarrier));
  std::vector<uint32_t> out(1);
  const ptx::Fault fault = program.run(out);
  EXPECT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out[0], 5u);
}

// Waits that end at once, sleep, and a number of polls before a thread gives up.
TEST(PtxDeviceFaults, AThreadThatPollsForAWhileIsNoDeadlock) {
  const std::string start = "mov.u32 %r1, barrier; mbarrier.init.shared::cta.b64 [%r1], 1; mov.u32 %r2, 0;\n";
  std::string waits, sleeps;
  for (int n = 0; n < 20; ++n) {
    waits += "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 1;\n";
    sleeps += "nanosleep.u32 100;\n";
  }
  const std::string polls =
      "POLL: mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r1], 0; add.u32 %r2, %r2, 1;\n"
      "setp.lt.u32 %p2, %r2, 100; @%p2 bra POLL;\n";
  for (const std::string& body : {waits, sleeps, polls}) {
    Program program(kernel(start + body, kOneMBarrier));
    std::vector<uint32_t> out(1);
    const ptx::Fault fault = program.run(out);
    EXPECT_EQ(fault.error, 0) << fault.text << body;
  }
}

TEST(PtxDeviceFaults, CopiesInFlightAtExit) {
  const std::string start =
      "mov.u32 %r1, barrier; mbarrier.init.shared::cta.b64 [%r1], 1; mov.u32 %r2, pool;\n"
      "fence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;\n";
  check_faults(
      {{start + "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 64, [%r1];",
        kLaunchFailure, "while a bulk copy to its shared memory is in flight", 1, kOneMBarrier + kPool, 64},
       {"mov.u32 %r2, pool; st.shared.v4.u32 [%r2], {%r2, %r2, %r2, %r2}; fence.proxy.async.shared::cta;"
        " cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16; cp.async.bulk.commit_group;",
        kLaunchFailure, "exits without a wait for its bulk copy", 1, kPool, 64}});
}

// As on GPUs, with Checks::unwaited_stores off.
TEST(PtxDeviceFaults, ABulkStoreWithoutAWaitHappensAtExit) {
  Program program(
      kernel("mov.u32 %r2, pool; mov.u32 %r3, 9; st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3};"
             " fence.proxy.async.shared::cta;"
             " cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;",
             kPool));
  program.launch.shape.dynamic_shared = 64;
  program.launch.late = {true, true, true, false};
  program.launch.checks.unwaited_stores = false;
  std::vector<uint32_t> out(4), in(4);
  const ptx::Fault fault = program.run(out, in);
  EXPECT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out, std::vector<uint32_t>(4, 9));
}

TEST(PtxDeviceFaults, BlocksOfAClusterThatHaveExited) {
  check_faults(
      {{"mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 0; @%p1 bra END;\n"
        "WAIT: ld.volatile.global.u32 %r2, [%rd1]; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 200; @%p2 "
        "nanosleep.u32 9;"
        " @%p2 bra WAIT;\n"
        "mov.u32 %r4, pool; mapa.shared::cluster.u32 %r5, %r4, 0; st.shared::cluster.u32 [%r5], 1; END:",
        kLaunchFailure, "which has exited", 1, kPool, 64, 2},
       {"mov.u32 %r4, pool; mapa.shared::cluster.u32 %r5, %r4, 2;", kLaunchFailure, "mapa to block 2", 1,
        kPool, 64, 2},
       {"mov.u32 %r4, pool; add.u32 %r4, %r4, 0x1000000; st.shared.u32 [%r4], 1;", kIllegalAddress,
        ".shared::cta", 1, kPool, 64}});
}

TEST(PtxDeviceFaults, UnwrittenSharedMemory) {
  check_faults(
      {{"ld.shared.u32 %r1, [pool+8];", kLaunchFailure, "which nothing has written", 1, kPool, 64},
       {"st.shared.u16 [pool], 1; ld.shared.u16 %r1, [pool+2];", kLaunchFailure, "at 0x402", 1, kPool, 64},
       {"red.shared.add.u32 [pool], 1;", kLaunchFailure, "which nothing has written", 1, kPool, 64},
       {"mov.u32 %r1, pool; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];", kLaunchFailure,
        "nothing has written", 32, kPool, 64}});
  Program program(kernel("ld.shared.u32 %r1, [pool];", kPool));
  program.launch.shape.dynamic_shared = 16;
  program.launch.checks.unwritten = false;
  std::vector<uint32_t> out(1);
  EXPECT_EQ(program.run(out).error, 0);
}

// A struct of two bytes and padding, which a copy of the struct includes.
TEST(PtxDeviceFaults, PaddingMayBeUnwritten) {
  Program program(kernel("st.shared.u16 [pool], 1; ld.shared.u32 %r1, [pool];", kPool));
  program.launch.shape.dynamic_shared = 16;
  std::vector<uint32_t> out(1);
  EXPECT_EQ(program.run(out).error, 0);
}

TEST(PtxDeviceFaults, TheTextNamesTheLinesOfInlinedFunctions) {
  const std::string body =
      ".loc 1 30 3\nmov.u32 %r1, 1;\n"
      ".loc 2 12 5, function_name $L__info_string0, inlined_at 1 30 3\nst.global.u32 [%rd1+2], %r1;\n";
  std::string text = kernel(body);
  text += ".file 1 \"user.cu\"\n.file 2 \"library.h\", 1, 2\n";
  Program program(text);
  std::vector<uint32_t> out(4);
  const ptx::Fault fault = program.run(out);
  EXPECT_NE(fault.text.find("library.h:12, inlined at user.cu:30: st.global.u32"), std::string::npos)
      << fault.text;
}

}  // namespace
}  // namespace ptx_test
