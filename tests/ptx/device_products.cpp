// wgmma: values of all types of operands and sums, by the figures of the PTX ISA ("Register Fragments and
// Shared Memory Matrix Layouts"); and wgmma.mma_async.sp, by "Sparse matrix storage" and its fragments.
#include <bit>

#include "device_program.h"

namespace ptx_test {
namespace {

struct Product {
  std::string d, a, b;
  int k;  // of one instruction: 32 bytes of a row of A
  bool in_registers = false, transposed = false, sparse = false;
  int selector = 0;
  int stored_k() const { return sparse ? k / 2 : k; }
  int width() const { return 256 / stored_k(); }  // bits of an element
  bool halves() const { return a == "f16" || a == "bf16"; }
  std::string instruction() const {
    return std::string("wgmma.mma_async.") + (sparse ? "sp." : "") + "sync.aligned.m64n16k" +
           std::to_string(k) + "." + d + "." + a + "." + b + (a == "b1" ? ".and.popc" : "");
  }
};

// Of whole numbers from -2 to 4.
uint32_t bits_of(const std::string& type, int value) {
  if (type == "b1") return static_cast<uint32_t>(value);
  if (type == "s8" || type == "u8") return static_cast<uint8_t>(value);
  if (type == "tf32") return std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == "bf16") return std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16;
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

int a_value(const Product& product, int row, int k) {
  const int value = (row * 7 + k * 3) % 5;
  return product.a == "b1" ? value % 2 : product.a == "u8" ? value : value - 2;
}
int b_value(const Product& product, int k, int column) {
  const int value = (k * 2 + k / 5 + column * 3) % 5;
  return product.b == "b1" ? value % 2 : value - 2;
}

// Sparse A: of each four columns two are stored, of tf32 one of two.
int chunk_of(const Product& product) { return product.a == "tf32" ? 2 : 4; }
std::pair<int, int> chosen(const Product& product, int row, int chunk) {
  constexpr std::pair<int, int> kPairs[] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  const auto [first, second] = kPairs[(row * 5 + chunk * 7) % 6];
  return product.a == "tf32" ? std::pair(first % 2, 0) : std::pair(first, second);
}
// The column of A of the element `at` that is stored.
int column_of(const Product& product, int row, int at) {
  if (!product.sparse) return at;
  if (product.a == "tf32") return at * 2 + chosen(product, row, at).first;
  const auto [first, second] = chosen(product, row, at / 2);
  return at / 2 * 4 + (at % 2 ? second : first);
}

// The metadata of a lane. Of 8-bit types, lane t of four describes row lane / 4 + 8 (t % 2), from column
// 32 (t / 2) on. Of the others, two of the four lanes, which the selector chooses, describe half of the
// columns each, of row lane / 4 in the lower half of the word and of the row 8 on in the upper.
uint32_t metadata_of(const Product& product, int thread) {
  const int chunks = product.k / chunk_of(product), lane = thread % 32, of_group = lane % 4;
  const int first_row = thread / 32 * 16 + lane / 4;
  const bool bytes = product.width() == 8;
  if (!bytes && of_group / 2 != product.selector) return 0xFFFFFFFF;  // not read
  uint32_t word = 0;
  for (int n = 0; n < 8; ++n) {
    const int row = first_row + 8 * (bytes ? of_group % 2 : n / 4);
    const int chunk = bytes ? of_group / 2 * (chunks / 2) + n : of_group % 2 * (chunks / 2) + n % 4;
    const auto [first, second] = chosen(product, row, chunk);
    const int indices = product.a == "tf32" ? (first == 0 ? 0b0100 : 0b1110) : first | second << 2;
    word |= static_cast<uint32_t>(indices) << 4 * n;
  }
  return word;
}

// A of 64 rows and B of 16 columns, without swizzle: matrices of 128 bytes, of 8 rows of 16 bytes, or
// transposed of 8 columns. A begins at the pool with two of them side by side, B 2048 bytes on with two
// or, with a sparse A, four. 3072 bytes behind the start is the metadata of each thread.
std::vector<uint32_t> operands_of(const Product& product) {
  std::vector<uint32_t> words(896);
  const int width = product.width(), unit = 128 / width;  // bits; elements of 16 bytes
  const auto put = [&](int base, int matrices, int mn, int k, uint32_t value) {
    const int in_row = product.transposed ? mn % unit : k % unit, row = product.transposed ? k % 8 : mn % 8;
    const int down = product.transposed ? mn / unit : mn / 8, right = product.transposed ? k / 8 : k / unit;
    const int byte = base + down * matrices * 128 + right * 128 + row * 16;
    const int bit = in_row * width;
    words[static_cast<size_t>(byte / 4 + bit / 32)] |= value << bit % 32;
  };
  for (int row = 0; row < 64; ++row)
    for (int k = 0; k < product.stored_k(); ++k)
      put(0, 2, row, k, bits_of(product.a, a_value(product, row, column_of(product, row, k))));
  for (int k = 0; k < product.k; ++k)
    for (int column = 0; column < 16; ++column)
      put(2048, product.sparse ? 4 : 2, column, k, bits_of(product.b, b_value(product, k, column)));
  for (int thread = 0; product.sparse && thread < 128; ++thread)
    words[static_cast<size_t>(768 + thread)] = metadata_of(product, thread);
  return words;
}

std::string list(const std::string& prefix, int count) {
  std::string text;
  for (int n = 0; n < count; ++n) text += (n ? ", %" : "%") + prefix + std::to_string(n);
  return "{" + text + "}";
}

// The sums begin at 3, and A is negated if it has floats. With A in registers a thread reads its four from
// the pool.
std::string product_program(const Product& product) {
  const bool halves = product.d == "f16", integers = product.d == "s32";
  const int registers = halves ? 4 : 8;
  std::string body = R"(
    .reg .b32 %s<8>; .reg .b32 %a<4>; .reg .b32 %meta;
    mov.u32 %r1, %tid.x; mov.u32 %r2, pool; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3; cvt.u64.u32 %rd3, %r3;
    shl.b32 %r5, %r1, 2; cvt.u64.u32 %rd4, %r5; add.s64 %rd4, %rd2, %rd4; ld.global.u32 %meta, [%rd4+3072];
    add.s64 %rd2, %rd2, %rd3;
    ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2]; st.shared.v4.u32 [%r4], {%r5, %r6, %r7, %r8};
    setp.lt.u32 %p2, %r1, 64;
    @%p2 ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd2+2048];
    @%p2 st.shared.v4.u32 [%r4+2048], {%r5, %r6, %r7, %r8};
    fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r4, %r2, 4; and.b32 %r4, %r4, 0x3FFF; cvt.u64.u32 %rd4, %r4; add.s64 %rd5, %rd4, 128;
    or.b64 %rd4, %rd4, 0x0000001000080000;                            // leading 128, stride 256 bytes
    setp.eq.u32 %p1, %r1, %r1;
    // Row 16 warp + lane / 4, bytes 4 (lane % 4): eight rows on for %a1 and %a3, 16 bytes for %a2 and %a3.
    shr.u32 %r5, %r1, 5; shl.b32 %r5, %r5, 9; and.b32 %r6, %r1, 31; shl.b32 %r6, %r6, 2;
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r2;
    ld.shared.u32 %a0, [%r5]; ld.shared.u32 %a1, [%r5+256]; ld.shared.u32 %a2, [%r5+128];
    ld.shared.u32 %a3, [%r5+384];
    )";
  body += product.sparse ? "or.b64 %rd5, %rd5, 0x0000002000080000;\n"
                         : "or.b64 %rd5, %rd5, 0x0000001000080000;\n";
  const std::string three = halves ? "0x42004200" : integers ? "3" : "0x40400000";
  for (int n = 0; n < registers; ++n) body += "mov.b32 %s" + std::to_string(n) + ", " + three + ";\n";
  const std::string transpose = product.transposed ? ", 1" : ", 0";
  body += "wgmma.fence.sync.aligned;\n" + product.instruction() + " " + list("s", registers) + ", " +
          (product.in_registers ? list("a", 4) : "%rd4") + ", %rd5, " +
          (product.sparse ? "%meta, " + std::to_string(product.selector) + ", " : "") + "%p1" +
          (integers ? "" : ", -1, 1") +
          (!product.halves()      ? ""
           : product.in_registers ? transpose
                                  : transpose + transpose) +
          ";\n";
  body +=
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
      "shl.b32 %r5, %r1, 5; cvt.u64.u32 %rd6, %r5; add.s64 %rd1, %rd1, %rd6;\n";
  for (int n = 0; n < registers; ++n)
    body += "st.global.b32 [%rd1+" + std::to_string(4 * n) + "], %s" + std::to_string(n) + ";\n";
  return kernel(body, kPool);
}

ptx::Fault run(const Product& product, std::vector<uint32_t> in, std::vector<uint32_t>& out) {
  Program program(product_program(product));
  program.launch.shape.block[0] = 128;
  program.launch.shape.dynamic_shared = 4096;
  out.assign(128 * 8, 0);
  return program.run(out, in);
}

void check_warpgroup_product(const Product& product) {
  SCOPED_TRACE(product.instruction() + (product.in_registers ? ", A in registers" : "") +
               (product.transposed ? ", transposed" : "") + ", selector " + std::to_string(product.selector));
  std::vector<uint32_t> out;
  const ptx::Fault fault = run(product, operands_of(product), out);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < 8; ++i) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
      int sum = 0;
      for (int n = 0; n < product.stored_k(); ++n) {
        const int k = column_of(product, row, n);
        sum += a_value(product, row, k) * b_value(product, k, column);
      }
      sum = product.d == "s32" ? 3 + sum : 3 - sum;
      const uint32_t* const own = &out[static_cast<size_t>(thread) * 8];
      const float value = product.d == "s32"   ? static_cast<float>(static_cast<int32_t>(own[i]))
                          : product.d == "f16" ? half_value(own[i / 2] >> 16 * (i % 2) & 0xFFFF)
                                               : std::bit_cast<float>(own[i]);
      ASSERT_EQ(value, static_cast<float>(sum)) << "thread " << thread << ", i " << i;
    }
  }
}

const Product kProducts[] = {
    {"f32", "f16", "f16", 16},   {"f16", "f16", "f16", 16},   {"f32", "bf16", "bf16", 16},
    {"f32", "tf32", "tf32", 8},  {"f32", "e4m3", "e4m3", 32}, {"f32", "e5m2", "e4m3", 32},
    {"f16", "e4m3", "e5m2", 32}, {"s32", "s8", "s8", 32},     {"s32", "u8", "s8", 32},
};
Product sparse(Product product, int selector = 0) {
  product.k *= 2;
  product.sparse = true;
  product.selector = selector;
  return product;
}
// How many values the selector of the sparse product may have.
int selectors_of(const Product& product) { return product.width() == 8 ? 1 : 2; }

void check_all_orders(Product product) {
  check_warpgroup_product(product);
  product.transposed = true;
  if (product.halves()) check_warpgroup_product(product);
  product.transposed = false;
  product.in_registers = true;
  check_warpgroup_product(product);
}

TEST(PtxDeviceProducts, OfAllTypes) {
  for (const Product& product : kProducts) check_all_orders(product);
  check_all_orders({"s32", "b1", "b1", 256});
}

TEST(PtxDeviceProducts, SparseOfAllTypes) {
  for (const Product& product : kProducts)
    for (int selector = 0; selector < selectors_of(product); ++selector)
      check_all_orders(sparse(product, selector));
}

// Thread 32 has the metadata of the rows 16 and 24, of 8-bit types that of row 16.
TEST(PtxDeviceProducts, MetadataWithTwoElementsAtOnePlaceIsAFault) {
  for (const Product& dense : kProducts) {
    const Product product = sparse(dense);
    std::vector<uint32_t> in = operands_of(product), out;
    uint32_t& metadata = in[768 + 32];
    metadata = (metadata & ~0xF000u) | 0xA000;
    const ptx::Fault fault = run(product, in, out);
    EXPECT_EQ(fault.error, kLaunchFailure) << product.instruction();
    const std::string part =
        "the indices 0xa of row 0 from column " + std::to_string(3 * chunk_of(product)) + " are not valid";
    EXPECT_NE(fault.text.find(part), std::string::npos) << product.instruction() << fault.text;
  }
}

TEST(PtxDeviceProducts, SelectorsThatASparseProductHasNotAreNotSupported) {
  for (const Product& product : kProducts) {
    const Program program(product_program(sparse(product, selectors_of(product))));
    EXPECT_EQ(program.launch.kernel->unsupported.size(), 1u) << product.instruction();
  }
}

TEST(PtxDeviceProducts, AnotherKThanThatOfTheTypeIsNotSupported) {
  for (const Product& product : kProducts) {
    for (Product other : {product, sparse(product)}) {
      std::string text = product_program(other);
      const std::string k = "m64n16k" + std::to_string(other.k);
      text.replace(text.find(k), k.size(),
                   "m64n16k" + std::to_string(other.sparse ? other.k / 2 : other.k * 2));
      EXPECT_EQ(Program(text).launch.kernel->unsupported.size(), 1u) << other.instruction();
    }
  }
}

TEST(PtxDeviceProducts, TypesThatDoNotGoTogetherAreNotSupported) {
  for (const char* const types : {"k16.f32.f16.bf16", "k16.f16.bf16.bf16", "k32.s32.s8.e4m3", "k32.f32.s8.s8",
                                  "k256.s32.b1.b1", "k256.s32.b1.b1.xor.popc", "k32.s32.s8.s8.and.popc"}) {
    Program program(kernel("wgmma.mma_async.sync.aligned.m64n8" + std::string(types) +
                           " {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, 1, 1;"));
    EXPECT_EQ(program.launch.kernel->unsupported.size(), 1u) << types;
  }
  const std::string bits = "wgmma.mma_async.sp.sync.aligned.m64n8k512.s32.b1.b1.and.popc";
  Program program(kernel(bits + " {%f0, %f1, %f2, %f3}, %rd1, %rd2, %r1, 0, %p1;"));
  EXPECT_EQ(program.launch.kernel->unsupported.size(), 1u);
}

}  // namespace
}  // namespace ptx_test
