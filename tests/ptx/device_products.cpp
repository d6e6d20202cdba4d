// wgmma: values of all types of operands and sums, by the figures of the PTX ISA ("Register Fragments and
// Shared Memory Matrix Layouts").
#include <bit>

#include "device_program.h"

namespace ptx_test {
namespace {

struct Product {
  std::string d, a, b;
  int k;  // of one instruction: 32 bytes of a row
};

int a_value(int row, int k) { return (row * 7 + k * 3) % 5 - 2; }
int b_value(int k, int column) { return (k * 5 + column * 2) % 5 - 2; }

// Of whole numbers from -2 to 4.
uint32_t bits_of(const std::string& type, int value) {
  if (type == "s8" || type == "u8") return static_cast<uint8_t>(value);
  const uint32_t magnitude = static_cast<uint32_t>(value < 0 ? -value : value);
  const uint32_t one = type == "e4m3" ? 7 << 3 : type == "e5m2" ? 15 << 2 : 15 << 10;  // f16
  const uint32_t step = type == "e4m3" ? 1 << 3 : type == "e5m2" ? 1 << 2 : 1 << 10;   // of the exponent
  const uint32_t sign = value < 0 ? (type == "f16" ? 0x8000 : 0x80) : 0;
  return magnitude == 0 ? 0 : sign | (magnitude == 1 ? one : one + step);
}

float half_value(uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const float value = exponent == 0 ? 0.0f
                                    : static_cast<float>((half & 0x3FF) | 0x400) * 0x1p-25f *
                                          static_cast<float>(1u << exponent);
  return half & 0x8000 ? -value : value;
}

// A of 64 rows and B of 16 columns, K-major without swizzle: 8 rows of 16 bytes are a matrix of 128 bytes,
// two of which are the 32 bytes of a row. A begins at the pool, B 2048 bytes behind it.
std::vector<uint32_t> operands_of(const Product& product) {
  std::vector<uint32_t> words(640);
  const int width = 256 / product.k, unit = 128 / width;  // bits; elements of 16 bytes
  const auto put = [&](int base, int mn, int k, uint32_t value) {
    const int byte = base + mn / 8 * 256 + k / unit * 128 + mn % 8 * 16;
    const int bit = k % unit * width;
    words[static_cast<size_t>(byte / 4 + bit / 32)] |= value << bit % 32;
  };
  for (int k = 0; k < product.k; ++k) {
    for (int row = 0; row < 64; ++row)
      put(0, row, k, bits_of(product.a, a_value(row, k) + (product.a == "u8" ? 2 : 0)));
    for (int column = 0; column < 16; ++column) put(2048, column, k, bits_of(product.b, b_value(k, column)));
  }
  return words;
}

std::string list(const std::string& prefix, int count) {
  std::string text;
  for (int n = 0; n < count; ++n) text += (n ? ", %" : "%") + prefix + std::to_string(n);
  return "{" + text + "}";
}

// The sums begin at 3. With `in_registers` a thread reads its four registers of A from the pool.
std::string product_program(const Product& product, bool in_registers) {
  const bool halves = product.d == "f16", integers = product.d == "s32";
  const int registers = halves ? 4 : 8;
  std::string body = R"(
    .reg .b32 %s<8>; .reg .b32 %a<4>;
    mov.u32 %r1, %tid.x; mov.u32 %r2, pool; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd3, %r3;
    add.s64 %rd2, %rd2, %rd3;
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2]; st.shared.v4.u32 [%r4], {%r5, %r6, %r7, %r8};
    setp.lt.u32 %p2, %r1, 32;
    @%p2 ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2+2048];
    @%p2 st.shared.v4.u32 [%r4+2048], {%r5, %r6, %r7, %r8};
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r4, %r2, 4; and.b32 %r4, %r4, 0x3FFF; cvt.u64.u32 %rd4, %r4;
    or.b64 %rd4, %rd4, 0x0000001000080000; add.s64 %rd5, %rd4, 128;   // leading 128, stride 256 bytes
    setp.eq.u32 %p1, %r1, %r1;
    // Row 16 warp + lane / 4, bytes 4 (lane % 4): eight rows on for %a1 and %a3, 16 bytes for %a2 and %a3.
    shr.u32 %r5, %r1, 5; shl.b32 %r5, %r5, 9; and.b32 %r6, %r1, 31; shl.b32 %r6, %r6, 2;
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r2;
    ld.shared.u32 %a0, [%r5]; ld.shared.u32 %a1, [%r5+256]; ld.shared.u32 %a2, [%r5+128];
    ld.shared.u32 %a3, [%r5+384];
    )";
  const std::string three = halves ? "0x42004200" : integers ? "3" : "0x40400000";
  for (int n = 0; n < registers; ++n) body += "mov.b32 %s" + std::to_string(n) + ", " + three + ";\n";
  body += "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n16k" + std::to_string(product.k) +
          "." + product.d + "." + product.a + "." + product.b + " " + list("s", registers) + ", " +
          (in_registers ? list("a", 4) : "%rd4") + ", %rd5, %p1" + (integers ? "" : ", 1, 1") +
          (product.a != "f16" ? ""
           : in_registers     ? ", 0"
                              : ", 0, 0") +
          ";\n";
  body +=
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "shl.b32 %r5, %r1, 5; cvt.u64.u32 %rd6, %r5; add.s64 %rd1, %rd1, %rd6;\n";
  for (int n = 0; n < registers; ++n)
    body += "st.global.b32 [%rd1+" + std::to_string(4 * n) + "], %s" + std::to_string(n) + ";\n";
  return kernel(body, kPool);
}

void check_warpgroup_product(const Product& product, bool in_registers) {
  SCOPED_TRACE(product.d + " of " + product.a + " and " + product.b +
               (in_registers ? ", A in registers" : ""));
  Program program(product_program(product, in_registers));
  program.launch.shape.block[0] = 128;
  program.launch.shape.dynamic_shared = 4096;
  std::vector<uint32_t> in = operands_of(product), out(128 * 8);
  const ptx::Fault fault = program.run(out, in);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < 8; ++i) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      int sum = 3;
      for (int k = 0; k < product.k; ++k)
        sum += (a_value(row, k) + (product.a == "u8" ? 2 : 0)) * b_value(k, column);
      const uint32_t* const own = &out[static_cast<size_t>(thread) * 8];
      const float value = product.d == "s32"   ? static_cast<float>(static_cast<int32_t>(own[i]))
                          : product.d == "f16" ? half_value(own[i / 2] >> 16 * (i % 2) & 0xFFFF)
                                               : std::bit_cast<float>(own[i]);
      ASSERT_EQ(value, static_cast<float>(sum)) << "thread " << thread << ", i " << i;
    }
  }
}

TEST(PtxDeviceProducts, OfAllTypes) {
  const Product products[] = {
      {"f32", "f16", "f16", 16},   {"f16", "f16", "f16", 16},   {"f32", "e4m3", "e4m3", 32},
      {"f32", "e5m2", "e4m3", 32}, {"f16", "e4m3", "e5m2", 32}, {"s32", "s8", "s8", 32},
      {"s32", "u8", "s8", 32},
  };
  for (const Product& product : products)
    for (const bool in_registers : {false, true}) check_warpgroup_product(product, in_registers);
}

TEST(PtxDeviceProducts, TypesThatDoNotGoTogetherAreNotSupported) {
  for (const char* const types : {"f32.f16.bf16", "f16.bf16.bf16", "s32.s8.e4m3", "f32.s8.s8"}) {
    Program program(kernel("wgmma.mma_async.sync.aligned.m64n8k32." + std::string(types) +
                           " {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, 1, 1;"));
    EXPECT_EQ(program.launch.kernel->unsupported.size(), 1u) << types;
  }
}

}  // namespace
}  // namespace ptx_test
