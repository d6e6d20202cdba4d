// Modules, kernels, launches: shapes, parameters, variables, divergence, several workers.
#include <atomic>
#include <thread>

#include "device_program.h"

namespace ptx_test {
namespace {

TEST(PtxDevice, EachThreadHasItsCoordinates) {
  Program program(kernel(R"(
    mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.y;
    mad.lo.s32 %r6, %r2, %r3, %r1;      // within the block
    mul.lo.s32 %r7, %r3, %r5;
    mad.lo.s32 %r8, %r4, %r7, %r6;
    mul.wide.u32 %rd3, %r8, 4;
    add.s64 %rd3, %rd1, %rd3;
    mad.lo.s32 %r9, %r4, 1000, %r6;
    st.global.u32 [%rd3], %r9;)"));
  program.launch.shape = {{3, 1, 1}, {10, 5, 1}, {1, 1, 1}, 0};
  std::vector<uint32_t> out(150);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t n = 0; n < 150; ++n) EXPECT_EQ(out[n], n / 50 * 1000 + n % 50);
}

TEST(PtxDevice, ParametersAreAlignedByTheirTypes) {
  const std::shared_ptr<ptx::Module> module = ptx::load(
      ".version 8.5\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 4 b, .param .align 64 .b8 c[128], "
      ".param .f32 d)\n"
      ".maxntid 128, 2, 1\n{ ret; }");
  const ptx::Kernel* k = ptx::find_kernel(*module, "k");
  ASSERT_NE(k, nullptr);
  ASSERT_EQ(k->parameters.size(), 4u);
  EXPECT_EQ(k->parameters[1].offset, 8);
  EXPECT_EQ(k->parameters[2].offset, 64);
  EXPECT_EQ(k->parameters[2].bytes, 128);
  EXPECT_EQ(k->parameters[3].offset, 192);
  EXPECT_EQ(k->parameter_bytes, 196);
  EXPECT_EQ(k->max_threads, 256);
  EXPECT_EQ(ptx::find_kernel(*module, "other"), nullptr);
  EXPECT_EQ(ptx::kernel_names(*module), std::vector<std::string>{"k"});
}

TEST(PtxDevice, VariablesHaveTheirInitialValues) {
  Program program(kernel(R"(
    ld.const.u32 %r1, [table+4]; st.global.u32 [%rd1], %r1;
    ld.global.u64 %rd3, [pointer]; ld.u32 %r2, [%rd3]; st.global.u32 [%rd1+4], %r2;
    mov.u64 %rd4, name; ld.global.s8 %r3, [%rd4+1]; st.global.u32 [%rd1+8], %r3;)",
                         ".const .align 4 .u32 table[3] = {1, 22, 3};\n"
                         ".global .align 8 .u64 pointer = generic(table)+8;\n"
                         ".global .align 1 .b8 name[3] = {97, 255, 0};\n"));
  std::vector<uint32_t> out(3);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out, (std::vector<uint32_t>{22, 3, 0xFFFFFFFF}));
  EXPECT_EQ(ptx::variables(*program.module).size(), 3u);
}

TEST(PtxDevice, LanesThatDivergeMeetAgain) {
  Program program(kernel(kOwnElement + R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, %r1;
    LOOP:                                // as many turns as the lane's number
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra DONE;
    add.u32 %r2, %r2, 3;
    sub.u32 %r3, %r3, 1;
    bra LOOP;
    DONE:
    activemask.b32 %r4;
    setp.ne.u32 %p2, %r4, -1;
    @%p2 mov.u32 %r2, 999;
    st.global.u32 [%rd3], %r2;)"));
  program.launch.shape.block[0] = 32;
  std::vector<uint32_t> out(32);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(out[lane], 3 * lane);
}

TEST(PtxDevice, BranchesByAnIndexGoToTheirTargets) {
  Program program(kernel(kOwnElement + R"(
    and.b32 %r2, %r1, 1;
    targets: .branchtargets EVEN, ODD;
    brx.idx %r2, targets;
    EVEN: mov.u32 %r3, 20; bra END;
    ODD: mov.u32 %r3, 10;
    END: st.global.u32 [%rd3], %r3;)"));
  program.launch.shape.block[0] = 4;
  std::vector<uint32_t> out(4);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out, (std::vector<uint32_t>{20, 10, 20, 10}));
}

constexpr char kTwice[] = R"(
.func (.param .b32 result) twice(.param .b32 a) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [a];
  add.u32 %r2, %r1, %r1;
  st.param.b32 [result], %r2;
  ret;
}
)";

TEST(PtxDevice, FunctionsHaveTheirOwnRegisters) {
  Program program(kernel(kOwnElement + R"(
    { .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r1;
      call.uni (b), twice, (a);
      ld.param.b32 %r5, [b]; }
    add.u32 %r5, %r5, %r1;
    st.global.u32 [%rd3], %r5;)",
                         kTwice));
  program.launch.shape.block[0] = 8;
  std::vector<uint32_t> out(8);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t lane = 0; lane < 8; ++lane) EXPECT_EQ(out[lane], 3 * lane);
}

// A function that calls another one has variables with the names of its caller's.
TEST(PtxDevice, BlocksHaveTheirOwnVariables) {
  const std::string nested = R"(
.func (.param .b32 result) four_times (.param .b32 value) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [value];
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1; call.uni (b), twice, (a); ld.param.b32 %r2, [b]; }
  add.u32 %r2, %r2, %r2;
  st.param.b32 [result], %r2;
  ret;
}
)";
  Program program(kernel(kOwnElement + R"(
    { .param .b32 a; .param .b32 b;
      st.param.b32 [a], %r1;
      call.uni (b), four_times, (a);
      ld.param.b32 %r5, [b]; }
    st.global.u32 [%rd3], %r5;)",
                         kTwice + nested));
  program.launch.shape.block[0] = 8;
  std::vector<uint32_t> out(8);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t lane = 0; lane < 8; ++lane) EXPECT_EQ(out[lane], 4 * lane);
}

// Each lane calls a function through a pointer of a table, or through one that the kernel names.
const std::string kThrice = R"(
.func (.param .b32 result) thrice (.param .b32 value) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [value]; mul.lo.u32 %r2, %r1, 3; st.param.b32 [result], %r2;
  ret;
}
.global .align 8 .u64 table[3] = {twice, thrice, 77};
)";
const std::string kCallPointer = R"(
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r1;
    prototype : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (b), %rd6, (a), prototype;
    ld.param.b32 %r5, [b]; }
  st.global.u32 [%rd3], %r5;)";

TEST(PtxDevice, CallsThroughPointersReachTheirFunctions) {
  Program program(kernel(kOwnElement + R"(
    and.b32 %r2, %r1, 1; mul.wide.u32 %rd4, %r2, 8; mov.u64 %rd5, table; add.s64 %rd4, %rd4, %rd5;
    ld.global.u64 %rd6, [%rd4];
    setp.ne.u32 %p1, %r1, 7; @%p1 bra CALL; mov.u64 %rd6, twice; CALL:)" +
                             kCallPointer,
                         kTwice + kThrice));
  program.launch.shape.block[0] = 8;
  std::vector<uint32_t> out(8);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t lane = 0; lane < 8; ++lane)
    EXPECT_EQ(out[lane], (lane % 2 == 1 && lane != 7 ? 3 : 2) * lane) << lane;
}

TEST(PtxDevice, ACallThroughAWrongPointerIsAFault) {
  Program program(kernel(kOwnElement + "ld.global.u64 %rd6, [table+16];" + kCallPointer, kTwice + kThrice));
  std::vector<uint32_t> out(8);
  const ptx::Fault fault = program.run(out);
  EXPECT_EQ(fault.error, 718);
  EXPECT_NE(fault.text.find("through the pointer 0x4d"), std::string::npos) << fault.text;
}

const std::string kHeapFunctions =
    ".extern .func (.param .b64 result) malloc (.param .b64 bytes); .extern .func free (.param .b64 "
    "address);\n";
// Allocates the number of bytes in %rd4: the address in %rd5.
const std::string kMalloc =
    "{ .param .b64 a; .param .b64 b; st.param.b64 [a], %rd4; call.uni (b), malloc, (a); ld.param.b64 %rd5, "
    "[b]; }\n";
const std::string kFree = "{ .param .b64 a; st.param.b64 [a], %rd5; call.uni free, (a); }\n";

ptx::Fault run_with_heap(const std::string& body, std::vector<uint32_t>& out) {
  Program program(kernel(kOwnElement + body, kHeapFunctions));
  program.launch.heap = ptx::make_heap(1024);
  program.launch.shape.block[0] = static_cast<uint32_t>(out.size());
  return program.run(out);
}

TEST(PtxDevice, KernelsAllocateMemory) {
  // Twice: what the first round has freed is there for the second.
  std::string body;
  for (int round = 0; round < 2; ++round)
    body += "mov.u64 %rd4, 64;" + kMalloc +
            "st.u32 [%rd5+60], %r1; ld.u32 %r2, [%rd5+60]; add.u32 %r3, %r3, %r2;" + kFree;
  std::vector<uint32_t> out(8);
  const ptx::Fault fault = run_with_heap("mov.u32 %r3, 0;" + body + "st.global.u32 [%rd3], %r3;", out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t lane = 0; lane < 8; ++lane) EXPECT_EQ(out[lane], 2 * lane);
  // Without room the result is null.
  EXPECT_EQ(run_with_heap(
                "mov.u64 %rd4, 2000;" + kMalloc + "cvt.u32.u64 %r2, %rd5; st.global.u32 [%rd3], %r2;", out)
                .error,
            0);
  EXPECT_EQ(out[0], 0u);
}

TEST(PtxDevice, MemoryOfKernelsIsChecked) {
  const std::pair<std::string, std::string> wrong[] = {
      {"mov.u64 %rd4, 64;" + kMalloc + "st.u32 [%rd5+64], %r1;", "store of 4 bytes"},
      {"mov.u64 %rd4, 64;" + kMalloc + kFree + "st.u32 [%rd5], %r1;", "store of 4 bytes"},
      {"mov.u64 %rd4, 64;" + kMalloc + kFree + kFree, "which is free already"}};
  for (const auto& [body, part] : wrong) {
    std::vector<uint32_t> out(1);
    const ptx::Fault fault = run_with_heap(body, out);
    EXPECT_EQ(fault.error, kIllegalAddress) << body;
    EXPECT_NE(fault.text.find(part), std::string::npos) << fault.text;
  }
}

TEST(PtxDevice, WorkersShareALaunch) {
  Program program(
      kernel("mov.u32 %r1, 1; red.global.add.u32 [%rd1], %r1; atom.global.add.u32 %r2, [%rd1+4], 2;"));
  program.launch.shape = {{2000, 1, 1}, {64, 1, 1}, {1, 1, 1}, 0};
  std::vector<uint32_t> out(2);
  TestMemory memory;
  memory.add(out);
  const Parameters parameters(out.data(), out.data());
  program.launch.memory = &memory;
  program.launch.parameters = parameters.data();
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    for (uint64_t cluster; (cluster = next++) < 2000;) ptx::run_cluster(program.launch, cluster);
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ(out, (std::vector<uint32_t>{128000, 256000}));
}

// The first block waits for the last one, which the worker has to start meanwhile.
TEST(PtxDevice, ABlockMayWaitForOneThatHasNotStarted) {
  const std::string body = R"(
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; sub.u32 %r2, %r2, 1;
    setp.ne.u32 %p1, %r1, %r2;
    @%p1 bra WAIT;
    st.release.gpu.global.u32 [%rd1], 1;
    bra END;
    WAIT: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0;
    @%p2 nanosleep.u32 20; @%p2 bra WAIT;
    END: red.global.add.u32 [%rd1+4], 1;)";
  Program program(kernel(body));
  program.launch.shape.grid[0] = 5;
  std::vector<uint32_t> out(2);
  TestMemory memory;
  memory.add(out);
  const Parameters parameters(out.data(), out.data());
  program.launch.memory = &memory;
  program.launch.parameters = parameters.data();
  uint64_t next = 1;
  program.launch.another_cluster = [&]() -> std::optional<uint64_t> {
    return next < 5 ? std::optional<uint64_t>(next++) : std::nullopt;
  };
  ptx::run_cluster(program.launch, 0);
  while (next < 5) ptx::run_cluster(program.launch, next++);
  EXPECT_EQ(out[1], 5u);

  out = {0, 0};
  Program cooperative(kernel(body));
  cooperative.together = true;
  cooperative.launch.shape.grid[0] = 5;
  ASSERT_EQ(cooperative.run(out).error, 0);
  EXPECT_EQ(out[1], 5u);
}

std::string printed;

TEST(PtxDevice, PrintfWritesItsArguments) {
  const std::string format = "n=%d x=%.2f %s %llu%%\n", word = "two words";
  const auto bytes = [](const std::string& text) {
    std::string list;
    for (const char c : text) list += std::to_string(int{c}) + ", ";
    return "[" + std::to_string(text.size() + 1) + "] = {" + list + "0};\n";
  };
  Program program(kernel(
      R"(
    .local .align 8 .b8 arguments[32];
    mov.u64 %rd3, arguments; cvta.local.u64 %rd4, %rd3;
    st.local.u32 [%rd3], -5; mov.f64 %d1, 0d3FF4000000000000; st.local.f64 [%rd3+8], %d1;
    mov.u64 %rd5, word; cvta.global.u64 %rd5, %rd5; st.local.u64 [%rd3+16], %rd5;
    st.local.u64 [%rd3+24], 12345678901;
    mov.u64 %rd6, format; cvta.global.u64 %rd6, %rd6;
    { .param .b64 a; .param .b64 b; .param .b32 c;
      st.param.b64 [a], %rd6; st.param.b64 [b], %rd4;
      call.uni (c), vprintf, (a, b);
      ld.param.b32 %r1, [c]; }
    st.global.u32 [%rd1], %r1;)",
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .align 1 .b8 format" +
          bytes(format) + ".global .align 1 .b8 word" + bytes(word)));
  printed.clear();
  program.launch.print = [](std::string_view text) { printed += text; };
  std::vector<uint32_t> out(1);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(printed, "n=-5 x=1.25 two words 12345678901%\n");
  EXPECT_EQ(out[0], 4u);
}

TEST(PtxDevice, AReportCountsFormsAndLaunches) {
  Program program(
      kernel("mov.u32 %r1, 1; add.u32 %r1, %r1, 2; add.u32 %r1, %r1, 2; st.global.u32 [%rd1], %r1;"
             "bra.uni END; sub.u32 %r1, %r1, 1; END:"));
  program.launch.count = true;
  std::vector<uint32_t> out(1);
  ASSERT_EQ(program.run(out).error, 0);
  const std::string text = ptx::report(*program.module);
  EXPECT_NE(text.find("K 1 k\n"), std::string::npos) << text;
  EXPECT_NE(text.find("F 2 add.u32\n"), std::string::npos) << text;
  EXPECT_NE(text.find("F 0 sub.u32\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("(end)"), std::string::npos) << text;
}

// Lanes and warps that spin for a lock soon let its holder run.
TEST(PtxDevice, SpinningForALockIsShort) {
  const std::pair<std::string, std::string> attempts[] = {
      {"atom.global.cas.b32", "AGAIN: atom.global.cas.b32 %r2, [%rd1], 0, 1;"},
      {"atom.global.exch.b32", "AGAIN: atom.global.exch.b32 %r2, [%rd1], 1;"},
      {"ld.volatile.global.u32",
       "AGAIN: ld.volatile.global.u32 %r2, [%rd1]; setp.ne.u32 %p1, %r2, 0;"
       "@%p1 bra AGAIN; atom.global.cas.b32 %r2, [%rd1], 0, 1;"}};
  for (const auto& [form, attempt] : attempts) {
    Program program(kernel(attempt + R"(setp.ne.u32 %p1, %r2, 0; @%p1 bra AGAIN;
      ld.volatile.global.u32 %r3, [%rd1+4]; add.u32 %r3, %r3, 1; st.volatile.global.u32 [%rd1+4], %r3;
      membar.gl; atom.global.exch.b32 %r2, [%rd1], 0;)"));
    program.launch.shape.block[0] = 64;
    program.launch.count = true;
    std::vector<uint32_t> out(2);
    const ptx::Fault fault = program.run(out);
    EXPECT_EQ(fault.error, 0) << fault.text;
    EXPECT_EQ(out[1], 64u);
    const std::string report = ptx::report(*program.module);
    const size_t line = report.find(" " + form + "\n");
    ASSERT_NE(line, std::string::npos) << report;
    EXPECT_LT(std::stoul(report.substr(report.rfind(' ', line - 1))), 50'000u) << report;
  }
}

}  // namespace
}  // namespace ptx_test
