// What instructions compute: each form of the table with sources and results of the ISA's definitions.
#include <bit>
#include <cmath>

#include "device_program.h"

namespace ptx_test {
namespace {

// Runs `body`, which computes %r0 from %r10, %r11, %r12 (or %rd0, %f0, %d0, %h0), and returns the 64 bits.
struct Case {
  std::string body;
  uint64_t expected;
};

uint64_t result_of(const std::string& body, ptx::Fault* fault) {
  Program program(kernel("mov.u64 %rd0, 0; mov.u32 %r0, 0;\n" + body));
  std::vector<uint64_t> out(1);
  *fault = program.run(out);
  return out[0];
}

void check(const std::vector<Case>& cases, const std::string& store) {
  for (const Case& one : cases) {
    ptx::Fault fault{};
    const uint64_t result = result_of(one.body + "\n" + store, &fault);
    EXPECT_EQ(fault.error, 0) << one.body << ": " << fault.text;
    EXPECT_EQ(result, one.expected) << one.body;
  }
}
void check32(const std::vector<Case>& cases) { check(cases, "st.global.u32 [%rd1], %r0;"); }
void check64(const std::vector<Case>& cases) { check(cases, "st.global.u64 [%rd1], %rd0;"); }

TEST(PtxDeviceInstructions, Integers) {
  check32({{"add.s32 %r0, 2147483647, 1;", 0x80000000},
           {"sub.u32 %r0, 1, 2;", 0xFFFFFFFF},
           {"mul.lo.u32 %r0, 65536, 65537;", 65536},
           {"mul.hi.u32 %r0, -1, -1;", 0xFFFFFFFE},
           {"mul.hi.s32 %r0, -1, 2;", 0xFFFFFFFF},
           {"mad.lo.s32 %r0, -3, 7, 1;", static_cast<uint32_t>(-20)},
           {"mul24.lo.u32 %r0, 0x1000003, 5;", 15},
           {"sad.s32 %r0, -2, 5, 10;", 17},
           {"div.s32 %r0, -7, 2;", static_cast<uint32_t>(-3)},
           {"rem.s32 %r0, -7, 2;", static_cast<uint32_t>(-1)},
           {"div.u32 %r0, -1, 16;", 0x0FFFFFFF},
           {"min.s32 %r0, -1, 1;", 0xFFFFFFFF},
           {"max.u32 %r0, -1, 1;", 0xFFFFFFFF},
           {"abs.s32 %r0, -9;", 9},
           {"shl.b32 %r0, 1, 32;", 0},
           {"shr.s32 %r0, -8, 40;", 0xFFFFFFFF},
           {"shr.u32 %r0, -8, 1;", 0x7FFFFFFC},
           {"cnot.b32 %r0, 0;", 1},
           {"add.sat.s32 %r0, 2147483647, 1;", 0x7FFFFFFF},
           {"add.sat.s32 %r0, 5, -9;", static_cast<uint32_t>(-4)},
           {"sub.sat.s32 %r0, -2147483648, 1;", 0x80000000},
           {"mad.hi.sat.s32 %r0, 0x40000000, 0x40000000, 0x7FFFFFFF;", 0x7FFFFFFF},
           {"mad.hi.sat.s32 %r0, 0x40000000, -8, 1;", static_cast<uint32_t>(-1)},
           {"add.cc.u32 %r1, -1, 1; addc.u32 %r0, 0, 0;", 1},
           {"sub.cc.u32 %r1, 0, 1; subc.u32 %r0, 5, 0;", 4},
           // A difference without a borrow sets the carry, which an addc behind it adds.
           {"sub.cc.u32 %r1, 5, 5; addc.u32 %r0, 7, 0;", 8},
           {"sub.cc.u32 %r1, 4, 5; addc.u32 %r0, 7, 0;", 7},
           {"sub.cc.u32 %r1, 4, 5; subc.cc.u32 %r1, 1, 0; addc.u32 %r0, 7, 0;", 8},
           {"sub.cc.u32 %r1, 4, 5; subc.cc.u32 %r1, 1, 1; addc.u32 %r0, 7, 0;", 7},
           {"sub.cc.u32 %r1, 4, 5; subc.u32 %r1, 1, 0; addc.u32 %r0, 7, 0;", 7},
           {"add.cc.u32 %r1, -1, 1; subc.u32 %r0, 7, 2;", 5},
           {"add.cc.u32 %r1, 1, 1; subc.u32 %r0, 7, 2;", 4}});
  check64({{"mul.wide.s32 %rd0, -2, 3;", static_cast<uint64_t>(-6)},
           {"mul.wide.u32 %rd0, -1, -1;", 0xFFFFFFFE00000001},
           {"mad.wide.s32 %rd0, -2, 3, 5;", static_cast<uint64_t>(-1)},
           {"mul.hi.u64 %rd0, -1, -1;", 0xFFFFFFFFFFFFFFFE},
           {"div.s64 %rd0, -9, 4;", static_cast<uint64_t>(-2)},
           {"sub.cc.u64 %rd3, 0, 1; subc.u64 %rd0, 5, 0;", 4},
           {"sub.cc.u64 %rd3, 5, 5; addc.u64 %rd0, 7, 0;", 8},
           {"sub.cc.u64 %rd3, 4, 5; subc.cc.u64 %rd3, 1, 0; addc.u64 %rd0, 7, 0;", 8}});
}

// As cuda_fp16.hpp writes them.
TEST(PtxDeviceInstructions, DeclarationsNeedNoSpaceBehindTheStateSpace) {
  check32({{"{.reg.b16 a, b; mov.b32 {a, b}, 0x12345678; mov.b32 %r0, {b, a};}", 0x56781234},
           {"{.reg.b32 a; mov.u32 a, 7; {.reg.b32 a; mov.u32 a, 5;} mov.u32 %r0, a;}", 7},
           {".reg.b32 many<3>; mov.u32 many2, 7; mov.u32 %r0, many2;", 7},
           {".shared.align 4 .b32 a; st.shared.u32 [a], 7; ld.shared.u32 %r0, [a];", 7},
           {".local.b32 a[2]; st.local.u32 [a+4], 7; ld.local.u32 %r0, [a+4];", 7}});
  Program program(
      kernel("ld.global.u32 %r0, [number]; ld.const.u32 %r1, [other]; add.u32 %r0, %r0, %r1;\n"
             "st.shared.u32 [word], %r0; ld.shared.u32 %r2, [word]; st.global.u32 [%rd1], %r2;",
             ".global.align 4 .u32 number = 5;\n.visible .const.u32 other = 2;\n"
             ".shared.align 4 .b32 word;\n"));
  std::vector<uint32_t> out(1);
  const ptx::Fault fault = program.run(out);
  EXPECT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out[0], 7u);
}

TEST(PtxDeviceInstructions, Bits) {
  check32({{"bfe.u32 %r0, 0x12345678, 8, 8;", 0x56},
           {"bfe.s32 %r0, 0x00008000, 8, 8;", 0xFFFFFF80},
           {"bfe.s32 %r0, 0x80000000, 28, 16;", 0xFFFFFFF8},
           {"bfe.u32 %r0, 0x12345678, 4, 0;", 0},
           {"bfi.b32 %r0, 0xFF, 0, 4, 4;", 0xF0},
           {"bfi.b32 %r0, 0xFF, 1, 28, 16;", 0xF0000001},
           {"popc.b32 %r0, 0xF0F0;", 8},
           {"clz.b32 %r0, 1;", 31},
           {"brev.b32 %r0, 1;", 0x80000000},
           {"bfind.u32 %r0, 0x100;", 8},
           {"bfind.s32 %r0, -2;", 0},
           {"bfind.shiftamt.u32 %r0, 0x100;", 23},
           {"prmt.b32 %r0, 0x33221100, 0x77665544, 0x7531;", 0x77553311},
           {"prmt.b32 %r0, 0x80, 0, 0x8888;", 0xFFFFFFFF},
           {"shf.l.wrap.b32 %r0, 0x80000000, 1, 33;", 3},
           {"shf.r.clamp.b32 %r0, 1, 0xABC, 40;", 0xABC},
           {"lop3.b32 %r0, 0xF0, 0xCC, 0xAA, 0x80;", 0x80},
           {"lop3.b32 %r0, 0xF0, 0xCC, 0xAA, 0x96;", (0xF0 ^ 0xCC ^ 0xAA)},
           {"dp4a.s32.s32 %r0, 0x01FF0203, 0x01020304, 10;", 10 + 1 - 2 + 6 + 12},
           {"dp4a.u32.u32 %r0, 0x000000FF, 0x00000002, 0;", 510},
           {"dp2a.lo.u32.u32 %r0, 0x00030002, 0x00000504, 1;", 1 + 8 + 15},
           {"bmsk.clamp.b32 %r0, 4, 8;", 0xFF0},
           {"fns.b32 %r0, 0xF0, 0, 2;", 5},
           {"fns.b32 %r0, 0xF0, 5, 1;", 5},
           {"fns.b32 %r0, 0xF0, 31, -1;", 7},
           {"fns.b32 %r0, 0xF0, 6, -3;", 4},
           {"fns.b32 %r0, 0xF0, 5, 0;", 5},
           {"fns.b32 %r0, 0xF0, 3, 0;", 0xFFFFFFFF},
           {"fns.b32 %r0, 0xF0, 5, 4;", 0xFFFFFFFF},
           {"szext.wrap.s32 %r0, 0x1234, 3;", 0xFFFFFFFC},
           {"szext.wrap.u32 %r0, 0x1234, 3;", 4},
           {"szext.wrap.s32 %r0, 0x1235, 33;", 0xFFFFFFFF},
           {"szext.clamp.s32 %r0, 0x1235, 33;", 0x1235},
           {"szext.clamp.u32 %r0, 0x1235, 0;", 0}});
}

TEST(PtxDeviceInstructions, PackedIntegers) {
  check32({{"add.u16x2 %r0, 0xFFFF0001, 0x00028000;", 0x00018001},
           {"add.s16x2 %r0, 0x7FFFFFFF, 0x00010001;", 0x80000000},
           {"min.u16x2 %r0, 0xFFFF0001, 0x00020002;", 0x00020001},
           {"min.s16x2 %r0, 0xFFFF0001, 0x00020002;", 0xFFFF0001},
           {"max.u16x2 %r0, 0xFFFF0001, 0x00020002;", 0xFFFF0002},
           {"max.s16x2 %r0, 0xFFFF0001, 0x00020002;", 0x00020002},
           {"min.relu.s16x2 %r0, 0xFFFF0001, 0x00020002;", 0x00000001},
           {"max.s16x2.relu %r0, 0xFFFF8000, 0xFFFE0002;", 0x00000002},
           {"max.relu.s32 %r0, -5, -9;", 0},
           {"max.s32.relu %r0, -5, 9;", 9},
           {"min.s32.relu %r0, 5, 9;", 5},
           {"min.relu.s32 %r0, -5, 9;", 0},
           {"vabsdiff4.u32.u32.u32 %r0, 0x01FF0080, 0x02008000, 77;", 0x01FF8080},
           {"vabsdiff2.u32.u32.u32 %r0, 0x0001FFFF, 0x00030000, 77;", 0x0002FFFF},
           {"vabsdiff4.u32.u32.u32.add %r0, 0x01FF0080, 0x02008000, 77;", 1 + 255 + 128 + 128 + 77},
           {"vabsdiff2.u32.u32.u32.add %r0, 0x0001FFFF, 0x00030000, 77;", 2 + 65535 + 77}});
}

TEST(PtxDeviceInstructions, Floats) {
  const auto f = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  const float tiny = 1e-40f;
  const std::string set = "mov.b32 %f1, 0x" + [&] {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%X", std::bit_cast<unsigned>(tiny));
    return std::string(digits);
  }() + ";";
  check32({{"add.f32 %f0, 0f3F800000, 0f33800000; mov.b32 %r0, %f0;", f(1)},  // a tie, to even
           {"add.rp.f32 %f0, 0f3F800000, 0f33000000; mov.b32 %r0, %f0;", f(std::nextafter(1.0f, 2.0f))},
           {"sub.rm.f32 %f0, 0f3F800000, 0f30000000; mov.b32 %r0, %f0;", f(std::nextafter(1.0f, 0.0f))},
           {"fma.rn.f32 %f0, 0f40400000, 0f40800000, 0fBF800000; mov.b32 %r0, %f0;", f(11)},
           {"mul.sat.f32 %f0, 0f40400000, 0f40800000; mov.b32 %r0, %f0;", f(1)},
           {set + "mul.f32 %f0, %f1, 0f3F800000; mov.b32 %r0, %f0;", f(tiny)},
           {set + "mul.ftz.f32 %f0, %f1, 0f3F800000; mov.b32 %r0, %f0;", 0},
           {set + "setp.gt.ftz.f32 %p1, %f1, 0f00000000; selp.b32 %r0, 1, 0, %p1;", 0},
           {"min.f32 %f0, 0f7FC00000, 0f40000000; mov.b32 %r0, %f0;", f(2)},
           {"min.NaN.f32 %f0, 0f7FC00000, 0f40000000; mov.b32 %r1, %f0; and.b32 %r0, %r1, 0x7F800000;",
            0x7F800000},
           {"rcp.approx.ftz.f32 %f0, 0f40800000; mov.b32 %r0, %f0;", f(0.25f)},
           {"copysign.f32 %f0, 0fBF800000, 0f40000000; mov.b32 %r0, %f0;", f(-2)},
           {"setp.neu.f32 %p1, 0f7FC00000, 0f40000000; selp.b32 %r0, 1, 0, %p1;", 1},
           {"setp.ne.f32 %p1, 0f7FC00000, 0f40000000; selp.b32 %r0, 1, 0, %p1;", 0},
           {"testp.infinite.f32 %p1, 0f7F800000; selp.b32 %r0, 1, 0, %p1;", 1}});
  const auto d = [](double value) { return std::bit_cast<uint64_t>(value); };
  check64({{"add.rn.f64 %d0, 0d3FF0000000000000, 0d4000000000000000; mov.b64 %rd0, %d0;", d(3)},
           {"div.rn.f64 %d0, 0d3FF0000000000000, 0d4008000000000000; mov.b64 %rd0, %d0;", d(1.0 / 3)},
           {"sqrt.rn.f64 %d0, 0d4000000000000000; mov.b64 %rd0, %d0;", d(std::sqrt(2.0))}});
}

TEST(PtxDeviceInstructions, HalvesRoundOnce) {
  check32({{"mov.b16 %h1, 0x3C00; mov.b16 %h2, 0x4000; add.f16 %h0, %h1, %h2; cvt.u32.u16 %r0, %h0;", 0x4200},
           {"mov.b32 %r1, 0x40003C00; fma.rn.f16x2 %r0, %r1, %r1, %r1;", 0x46004000},
           {"mov.b16 %h1, 0x3F80; mul.bf16 %h0, %h1, %h1; cvt.u32.u16 %r0, %h0;", 0x3F80},
           // 1 + 2^-11 (a tie) + 2^-24 * 2^-24: above the tie
           {"mov.b16 %h1, 0x0001; mov.b16 %h2, 0x1000; mov.b16 %h3, 0x3C01;"
            "fma.rn.f16 %h0, %h1, %h1, %h2; add.f16 %h0, %h0, %h3; cvt.u32.u16 %r0, %h0;",
            0x3C02}});
}

TEST(PtxDeviceInstructions, Conversions) {
  const auto f = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  check32({{"cvt.rni.s32.f32 %r0, 0f40200000;", 2},
           {"cvt.rzi.u32.f32 %r0, 0fBF800000;", 0},
           {"cvt.rzi.s32.f32 %r0, 0f4F800000;", 0x7FFFFFFF},
           {"cvt.rn.f32.u32 %f0, -1; mov.b32 %r0, %f0;", f(4294967296.0f)},
           {"cvt.rz.f32.u32 %f0, -1; mov.b32 %r0, %f0;", f(4294967040.0f)},
           {"cvt.sat.u8.s32 %r0, 300;", 255},
           {"cvt.s8.s32 %r0, 200;", static_cast<uint32_t>(-56)},
           {"cvt.rn.f16.f32 %h0, 0f3F802000; cvt.u32.u16 %r0, %h0;", 0x3C01},
           {"cvt.rn.bf16x2.f32 %r0, 0f3F800000, 0f40000000;", 0x3F804000},
           {"cvt.rna.tf32.f32 %r0, 0f3F801000;", 0x3F802000},
           {"cvt.rn.tf32.f32 %r0, 0f3F801000;", 0x3F800000},
           {"cvt.rmi.f32.f32 %f0, 0fBFC00000; mov.b32 %r0, %f0;", f(-2)},
           {"cvt.sat.f32.f32 %f0, 0f40000000; mov.b32 %r0, %f0;", f(1)},
           {"cvt.rn.satfinite.e4m3x2.f32 %h0, 0f3F800000, 0f44000000; cvt.u32.u16 %r0, %h0;", 0x387E},
           {"cvt.rn.satfinite.e4m3x2.f32 %h0, 0f80000000, 0f00000000; cvt.u32.u16 %r0, %h0;", 0x8000},
           {"cvt.rn.satfinite.e5m2x2.f32 %h0, 0f00000000, 0f80000000; cvt.u32.u16 %r0, %h0;", 0x0080},
           {"mov.b16 %h1, 0x3840; cvt.rn.f16x2.e4m3x2 %r0, %h1;", 0x3C004000},
           {"mov.b16 %h1, 0x3C40; cvt.rn.f16x2.e5m2x2 %r0, %h1;", 0x3C004000}});
  check64({{"cvt.s64.s32 %rd0, -4;", static_cast<uint64_t>(-4)},
           {"cvt.u64.u32 %rd0, -4;", 0xFFFFFFFC},
           {"cvt.f64.f32 %d0, 0f3FC00000; mov.b64 %rd0, %d0;", std::bit_cast<uint64_t>(1.5)}});
}

TEST(PtxDeviceInstructions, ConversionsTo16BitsRoundAsTheySay) {
  struct Row {
    const char* source;
    uint64_t to_zero, down, up;
  };
  const Row halves[] = {
      {"f32 %h0, 0f3F800347", 0x3C00, 0x3C00, 0x3C01},  // 1.0001
      {"f32 %h0, 0fBF800347", 0xBC00, 0xBC01, 0xBC00}, {"f32 %h0, 0f3F800000", 0x3C00, 0x3C00, 0x3C00},
      {"f32 %h0, 0f48000000", 0x7BFF, 0x7BFF, 0x7C00},  // 131072
      {"f32 %h0, 0fC8000000", 0xFBFF, 0xFC00, 0xFBFF}, {"f32 %h0, 0f7F800000", 0x7C00, 0x7C00, 0x7C00},
      {"f32 %h0, 0f2B8CBCCC", 0x0000, 0x0000, 0x0001},  // 1e-12
      {"f32 %h0, 0fAB8CBCCC", 0x8000, 0x8001, 0x8000}, {"f32 %h0, 0f7FC00000", 0x7FFF, 0x7FFF, 0x7FFF},
      {"u32 %h0, 2049", 0x6800, 0x6800, 0x6801},       {"s32 %h0, -2049", 0xE800, 0xE801, 0xE800}};
  const Row bfloats[] = {{"f32 %h0, 0f3F804000", 0x3F80, 0x3F80, 0x3F81},
                         {"f32 %h0, 0fBF80C000", 0xBF80, 0xBF81, 0xBF80},
                         {"f32 %h0, 0f7F7FFFFF", 0x7F7F, 0x7F7F, 0x7F80}};
  std::vector<Case> cases;
  const auto add = [&](const Row& row, const std::string& type) {
    const std::string rest = "." + type + "." + row.source + "; cvt.u32.u16 %r0, %h0;";
    cases.push_back({"cvt.rz" + rest, row.to_zero});
    cases.push_back({"cvt.rm" + rest, row.down});
    cases.push_back({"cvt.rp" + rest, row.up});
  };
  for (const Row& row : halves) add(row, "f16");
  for (const Row& row : bfloats) add(row, "bf16");
  check32(cases);
}

TEST(PtxDeviceInstructions, LanesExchangeValues) {
  Program program(kernel(kOwnElement + R"(
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
    shfl.sync.up.b32 %r3|%p1, %r1, 2, 0, -1;
    selp.b32 %r3, %r3, 100, %p1;
    setp.gt.u32 %p2, %r1, 15;
    vote.sync.ballot.b32 %r4, %p2, -1;
    shr.u32 %r4, %r4, 16;
    and.b32 %r5, %r1, 3;
    match.any.sync.b32 %r6, %r5, -1;
    popc.b32 %r6, %r6;
    redux.sync.max.s32 %r7, %r1, -1;
    elect.sync _|%p3, -1;
    selp.b32 %r8, 1, 0, %p3;
    mad.lo.u32 %r9, %r3, 1000, %r2;
    st.global.u32 [%rd3], %r9;
    add.u32 %r10, %r4, %r6;
    add.u32 %r10, %r10, %r7;
    mad.lo.u32 %r10, %r8, 1000000, %r10;
    st.global.u32 [%rd3+128], %r10;)"));
  program.launch.shape.block[0] = 32;
  std::vector<uint32_t> out(64);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], (lane < 2 ? 100 : lane - 2) * 1000 + (lane ^ 1));
    EXPECT_EQ(out[32 + lane], 0xFFFF + 8 + 31 + (lane == 0 ? 1000000 : 0));
  }
}

// Even and odd lanes have masks of their own, and pass the same instructions a different number of times.
TEST(PtxDeviceInstructions, LanesWithDifferentMasksDoNotMix) {
  Program program(kernel(kOwnElement + R"(
    and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0; selp.b32 %r3, 0xAAAAAAAA, 0x55555555, %p1;
    selp.b32 %r4, 5, 3, %p1; mov.u32 %r5, 0; mov.u32 %r15, 0;
    AGAIN: add.u32 %r6, %r1, %r5;
    redux.sync.max.u32 %r7, %r6, %r3;              // 30 or 31, and the pass
    vote.sync.ballot.b32 %r8, 1, %r3; popc.b32 %r8, %r8;
    shfl.sync.bfly.b32 %r9, %r1, 2, 0x1F, %r3; xor.b32 %r9, %r9, %r1;
    match.all.sync.b32 %r10|%p2, %r2, %r3; selp.b32 %r10, 100, 0, %p2;
    elect.sync _|%p3, %r3; selp.b32 %r11, 1000, 0, %p3;
    add.u32 %r15, %r15, %r7; add.u32 %r15, %r15, %r8; add.u32 %r15, %r15, %r9; add.u32 %r15, %r15, %r10;
    add.u32 %r15, %r15, %r11;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, %r4; @%p4 bra AGAIN;
    st.global.u32 [%rd3], %r15;)"));
  program.launch.shape.block[0] = 32;
  std::vector<uint32_t> out(32);
  const ptx::Fault fault = program.run(out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const uint32_t odd = lane % 2, passes = odd ? 5 : 3, leader = lane < 2 ? 1000 : 0;
    EXPECT_EQ(out[lane], passes * (30 + odd + 16 + 2 + 100 + leader) + passes * (passes - 1) / 2) << lane;
  }
}

TEST(PtxDeviceInstructions, VectorsAndAtomics) {
  Program program(kernel(R"(
    ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2];
    st.global.v2.u32 [%rd1], {%r4, %r3};
    ld.global.s8 %r5, [%rd2+4]; st.global.u32 [%rd1+8], %r5;
    atom.global.cas.b32 %r6, [%rd2], 10, 77; st.global.u32 [%rd1+12], %r6;
    atom.global.exch.b32 %r7, [%rd2], 78; st.global.u32 [%rd1+16], %r7;
    atom.global.inc.u32 %r8, [%rd2], 78; ld.global.u32 %r9, [%rd2]; st.global.u32 [%rd1+20], %r9;
    red.global.max.s32 [%rd2+8], -5;
    red.global.add.f32 [%rd2+12], 0f3F800000;
    ld.global.u32 %r10, [%rd2+12]; st.global.u32 [%rd1+24], %r10;)"));
  std::vector<uint32_t> in = {10, 0x80, 30, 0x40000000}, out(7);
  const ptx::Fault fault = program.run(out, in);
  ASSERT_EQ(fault.error, 0) << fault.text;
  EXPECT_EQ(out, (std::vector<uint32_t>{0x40000000, 30, 0xFFFFFF80, 10, 77, 0, 0x40400000}));
  EXPECT_EQ(in[2], 30u);
}

}  // namespace
}  // namespace ptx_test
