// The layout of fragments, element by element, against the formulas of the PTX ISA ("Matrix Fragments for
// mma", figures of each shape): written here as the ISA has them, row and column of the register's index i.
#include <bit>

#include "device_program.h"

namespace ptx_test {
namespace {

struct Place {
  int row, column;
};

// The ISA's formulas: groupID = lane >> 2, threadID_in_group = lane % 4.
struct Fragments {
  std::string shape, type;
  int k, per;                   // elements of a register
  Place (*a)(int lane, int i);  // row, column of a_i
  Place (*b)(int lane, int i);  // row, column of b_i
  int a_elements, b_elements;   // of a lane
};

Place a_of_k4_tf32(int lane, int i) { return {i == 0 ? lane >> 2 : (lane >> 2) + 8, lane % 4}; }
Place b_of_k4_tf32(int lane, int) { return {lane % 4, lane >> 2}; }
Place a_of_k8_tf32(int lane, int i) {
  return {i == 0 || i == 2 ? lane >> 2 : (lane >> 2) + 8, i == 0 || i == 1 ? lane % 4 : lane % 4 + 4};
}
Place b_of_k8_tf32(int lane, int i) { return {i == 0 ? lane % 4 : lane % 4 + 4, lane >> 2}; }
Place a_of_k8_half(int lane, int i) {
  return {i == 0 || i == 1 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
}
Place b_of_k8_half(int lane, int i) { return {lane % 4 * 2 + i, lane >> 2}; }
Place a_of_k16_half(int lane, int i) {
  const bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
  return {upper ? lane >> 2 : (lane >> 2) + 8, i < 4 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8};
}
Place b_of_k16_half(int lane, int i) {
  return {i < 2 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8, lane >> 2};
}
Place a_of_k16_byte(int lane, int i) { return {i < 4 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 4 + (i & 3)}; }
Place b_of_k16_byte(int lane, int i) { return {lane % 4 * 4 + i, lane >> 2}; }
Place a_of_k32_byte(int lane, int i) {
  const bool upper = (0 <= i && i < 4) || (8 <= i && i < 12);
  return {upper ? lane >> 2 : (lane >> 2) + 8, i < 8 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16};
}
Place b_of_k32_byte(int lane, int i) {
  return {i < 4 ? lane % 4 * 4 + (i & 3) : lane % 4 * 4 + (i & 3) + 16, lane >> 2};
}
// The shapes with m8: row groupID of A, column groupID of B.
template <int kPer>
Place a_of_m8(int lane, int i) {
  return {lane >> 2, lane % 4 * kPer + i};
}
template <int kPer>
Place b_of_one(int lane, int i) {
  return {lane % 4 * kPer + i, lane >> 2};
}
Place a_of_k32_nibble(int lane, int i) {
  return {i < 8 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 8 + (i & 7)};
}
Place a_of_k64_nibble(int lane, int i) {
  const bool upper = (0 <= i && i < 8) || (16 <= i && i < 24);
  return {upper ? lane >> 2 : (lane >> 2) + 8, i < 16 ? lane % 4 * 8 + (i & 7) : lane % 4 * 8 + (i & 7) + 32};
}
Place b_of_k64_nibble(int lane, int i) {
  return {i < 8 ? lane % 4 * 8 + (i & 7) : lane % 4 * 8 + (i & 7) + 32, lane >> 2};
}
Place a_of_k128_bit(int lane, int i) {
  return {i < 32 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 32 + (i & 31)};
}
Place a_of_k256_bit(int lane, int i) {
  const bool upper = (0 <= i && i < 32) || (64 <= i && i < 96);
  return {upper ? lane >> 2 : (lane >> 2) + 8,
          i < 64 ? lane % 4 * 32 + (i & 31) : lane % 4 * 32 + (i & 31) + 128};
}
Place b_of_k256_bit(int lane, int i) {
  return {i < 32 ? lane % 4 * 32 + (i & 31) : lane % 4 * 32 + (i & 31) + 128, lane >> 2};
}
Place c_of_all(int lane, int i) { return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)}; }

const Fragments kFragments[] = {
    {"m16n8k4", "tf32", 4, 1, a_of_k4_tf32, b_of_k4_tf32, 2, 1},
    {"m16n8k8", "tf32", 8, 1, a_of_k8_tf32, b_of_k8_tf32, 4, 2},
    {"m16n8k8", "f16", 8, 2, a_of_k8_half, b_of_k8_half, 4, 2},
    {"m16n8k8", "bf16", 8, 2, a_of_k8_half, b_of_k8_half, 4, 2},
    {"m16n8k16", "f16", 16, 2, a_of_k16_half, b_of_k16_half, 8, 4},
    {"m16n8k16", "bf16", 16, 2, a_of_k16_half, b_of_k16_half, 8, 4},
    {"m16n8k16", "s8", 16, 4, a_of_k16_byte, b_of_k16_byte, 8, 4},
    {"m16n8k32", "s8", 32, 4, a_of_k32_byte, b_of_k32_byte, 16, 8},
    {"m16n8k16", "e4m3", 16, 4, a_of_k16_byte, b_of_k16_byte, 8, 4},
    {"m16n8k32", "e4m3", 32, 4, a_of_k32_byte, b_of_k32_byte, 16, 8},
    {"m16n8k32", "e5m2", 32, 4, a_of_k32_byte, b_of_k32_byte, 16, 8},
    {"m8n8k16", "s8", 16, 4, a_of_m8<4>, b_of_one<4>, 4, 4},
    {"m8n8k32", "s4", 32, 8, a_of_m8<8>, b_of_one<8>, 8, 8},
    {"m16n8k32", "s4", 32, 8, a_of_k32_nibble, b_of_one<8>, 16, 8},
    {"m16n8k64", "s4", 64, 8, a_of_k64_nibble, b_of_k64_nibble, 32, 16},
    {"m8n8k128", "b1", 128, 32, a_of_m8<32>, b_of_one<32>, 32, 32},
    {"m16n8k128", "b1", 128, 32, a_of_k128_bit, b_of_one<32>, 64, 32},
    {"m16n8k256", "b1", 256, 32, a_of_k256_bit, b_of_k256_bit, 128, 64},
};

// Small whole numbers, exact in every type.
int a_at(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
int b_at(int k, int column) { return (k * 5 + column * 2) % 9 - 4; }
int c_at(int row, int column) { return row * 8 + column; }

// A whole number as a float of `exponent` and `mantissa` bits.
uint32_t float_bits(int value, int exponent, int mantissa) {
  const int magnitude = value < 0 ? -value : value;
  if (magnitude == 0) return 0;
  const int power = 31 - std::countl_zero(static_cast<uint32_t>(magnitude));
  const int bias = (1 << (exponent - 1)) - 1;
  const int below = mantissa >= power ? magnitude << (mantissa - power) : magnitude >> (power - mantissa);
  return static_cast<uint32_t>((value < 0 ? 1 << (exponent + mantissa) : 0) | (power + bias) << mantissa |
                               (below & ((1 << mantissa) - 1)));
}

uint32_t bits(const std::string& type, int value) {
  if (type == "b1") return static_cast<uint32_t>(value & 1);
  if (type == "s4") return static_cast<uint32_t>(value & 15);
  if (type == "s8") return static_cast<uint8_t>(value);
  if (type == "e4m3") return float_bits(value, 4, 3);
  if (type == "e5m2") return float_bits(value, 5, 2);
  if (type == "f16") return float_bits(value, 5, 10);
  const uint32_t single = std::bit_cast<uint32_t>(static_cast<float>(value));
  return type == "bf16" ? single >> 16 : single;
}

bool is_integer(const Fragments& f) { return f.type == "s8" || f.type == "s4" || f.type == "b1"; }
int sums_of(const Fragments& f) { return f.shape.starts_with("m8") ? 2 : 4; }  // of a lane

std::string registers(const std::string& prefix, int first, int count) {
  std::string list;
  for (int n = 0; n < count; ++n) list += (n ? ", %" : "%") + prefix + std::to_string(first + n);
  return "{" + list + "}";
}

// Each lane reads its registers from `in` + 64 * lane words and writes D to `out` + 4 * lane words.
std::string program_of(const Fragments& f, bool half_sums, const std::string& operation) {
  const bool integer = is_integer(f);
  const int of_a = f.a_elements / f.per, of_b = f.b_elements / f.per, of_d = half_sums ? 2 : sums_of(f);
  std::string body =
      "mov.u32 %r60, %tid.x; mul.wide.u32 %rd3, %r60, 256; add.s64 %rd2, %rd2, %rd3; mul.wide.u32 %rd3, "
      "%r60, 16;"
      " add.s64 %rd1, %rd1, %rd3;\n";
  for (int n = 0; n < of_a + of_b; ++n)
    body += "ld.global.u32 %r" + std::to_string(n) + ", [%rd2+" + std::to_string(4 * n) + "];\n";
  const std::string d = integer || half_sums ? "r" : "f", sum = integer ? "s32" : half_sums ? "f16" : "f32";
  for (int n = 0; n < of_d; ++n)
    body +=
        "ld.global.b32 %" + d + std::to_string(40 + n) + ", [%rd2+" + std::to_string(4 * (32 + n)) + "];\n";
  body += "mma.sync.aligned." + f.shape + ".row.col." + sum + "." + f.type + "." + f.type + "." + sum +
          operation + " " + registers(d, 40, of_d) + ", " + registers("r", 0, of_a) + ", " +
          registers("r", of_a, of_b) + ", " + registers(d, 40, of_d) + ";\n";
  for (int n = 0; n < of_d; ++n)
    body += "st.global.b32 [%rd1+" + std::to_string(4 * n) + "], %" + d + std::to_string(40 + n) + ";\n";
  return kernel(body);
}

void check_product(const Fragments& f, bool half_sums, const std::string& operation = "") {
  SCOPED_TRACE(f.shape + " " + f.type + operation + (half_sums ? " with f16 sums" : ""));
  const bool integer = is_integer(f);
  const int of_a = f.a_elements / f.per, width = 32 / f.per;
  std::vector<uint32_t> in(32 * 64), out(32 * 4);
  const std::string sum_type = integer ? "s32" : half_sums ? "f16" : "tf32";
  const auto sum_bits = [&](int value) {
    return integer ? static_cast<uint32_t>(value) : bits(sum_type, value);
  };
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t* const words = &in[static_cast<size_t>(lane) * 64];
    for (int i = 0; i < f.a_elements; ++i) {
      const Place place = f.a(lane, i);
      words[i / f.per] |= bits(f.type, a_at(place.row, place.column)) << (width * (i % f.per));
    }
    for (int i = 0; i < f.b_elements; ++i) {
      const Place place = f.b(lane, i);
      words[of_a + i / f.per] |= bits(f.type, b_at(place.row, place.column)) << (width * (i % f.per));
    }
    for (int i = 0; i < sums_of(f); ++i) {
      const Place place = c_of_all(lane, i);
      const uint32_t c = sum_bits(c_at(place.row, place.column));
      words[32 + (half_sums ? i / 2 : i)] |= half_sums ? c << (16 * (i % 2)) : c;
    }
  }
  Program program(program_of(f, half_sums, operation));
  program.launch.shape.block[0] = 32;
  const ptx::Fault fault = program.run(out, in);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < sums_of(f); ++i) {
      const Place place = c_of_all(lane, i);
      int sum = c_at(place.row, place.column);
      for (int k = 0; k < f.k; ++k) {
        const int a = a_at(place.row, k), b = b_at(k, place.column);
        sum += operation == ".xor.popc" ? (a ^ b) & 1 : operation == ".and.popc" ? a & b & 1 : a * b;
      }
      const uint32_t word = out[static_cast<size_t>(lane * 4 + (half_sums ? i / 2 : i))];
      EXPECT_EQ(half_sums ? word >> (16 * (i % 2)) & 0xFFFF : word, sum_bits(sum))
          << "lane " << lane << ", i " << i;
    }
  }
}

TEST(PtxDeviceFragments, ProductsHaveTheLayoutsOfTheIsa) {
  for (const Fragments& f : kFragments) {
    if (f.type != "b1") check_product(f, false);
  }
}

TEST(PtxDeviceFragments, ProductsOfBitsCountThem) {
  for (const Fragments& f : kFragments)
    for (const char* const operation : {".xor.popc", ".and.popc"})
      if (f.type == "b1") check_product(f, false, operation);
}

TEST(PtxDeviceFragments, SumsInHalvesArePairs) {
  for (const Fragments& f : kFragments)
    if (f.type == "f16" || f.type == "e5m2") check_product(f, true);
}

// m8n8k4 of f16: lanes 4 q to 4 q + 3, and those 16 on, compute product q. The ISA's formulas of rows and
// columns, for both orders of A and B and both types of C and D.
TEST(PtxDeviceFragments, ProductsOfQuads) {
  for (int variant = 0; variant < 16; ++variant) {
    const bool a_by_column = variant & 1, b_by_row = variant & 2, half_d = variant & 4, half_c = variant & 8;
    const int of_d = half_d ? 4 : 8, of_c = half_c ? 4 : 8;
    std::string body =
        "mov.u32 %r60, %tid.x; mul.wide.u32 %rd3, %r60, 64; add.s64 %rd2, %rd2, %rd3; mul.wide.u32 %rd3, "
        "%r60, 32;"
        "add.s64 %rd1, %rd1, %rd3;\n";
    for (int n = 0; n < 4 + of_c; ++n)
      body += "ld.global.u32 %r" + std::to_string(n) + ", [%rd2+" + std::to_string(4 * n) + "];\n";
    body += std::string("mma.sync.aligned.m8n8k4.") + (a_by_column ? "col." : "row.") +
            (b_by_row ? "row." : "col.") + (half_d ? "f16" : "f32") + ".f16.f16." +
            (half_c ? "f16 " : "f32 ") + registers("r", 20, of_d) + ", " + registers("r", 0, 2) + ", " +
            registers("r", 2, 2) + ", " + registers("r", 4, of_c) + ";\n";
    for (int n = 0; n < of_d; ++n)
      body += "st.global.u32 [%rd1+" + std::to_string(4 * n) + "], %r" + std::to_string(20 + n) + ";\n";
    const auto place_of_sum = [](int lane, int i, bool halves) -> Place {
      if (halves) return {lane < 16 ? lane % 4 : lane % 4 + 4, i};
      const int x = (lane & 1) + (i & 2);
      return {lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
    };
    std::vector<uint32_t> in(32 * 16), out(32 * 8);
    for (int lane = 0; lane < 32; ++lane) {
      const int other = lane / 4 % 4;  // the products differ
      uint32_t* const words = &in[static_cast<size_t>(lane) * 16];
      for (int i = 0; i < 4; ++i) {
        const int row = a_by_column ? (lane < 16 ? i : i + 4) : (lane < 16 ? lane % 4 : lane % 4 + 4);
        const int k = a_by_column ? lane % 4 : i;
        words[i / 2] |= bits("f16", a_at(row + other, k)) << 16 * (i % 2);
        const int column = b_by_row ? (lane < 16 ? i : i + 4) : (lane < 16 ? lane % 4 : lane % 4 + 4);
        words[2 + i / 2] |= bits("f16", b_at(b_by_row ? lane % 4 : i, column)) << 16 * (i % 2);
      }
      for (int i = 0; i < 8; ++i) {
        const Place place = place_of_sum(lane, i, half_c);
        words[half_c ? 4 + i / 2 : 4 + i] |= half_c
                                                 ? bits("f16", c_at(place.row, place.column)) << 16 * (i % 2)
                                                 : bits("tf32", c_at(place.row, place.column));
      }
    }
    Program program(kernel(body));
    program.launch.shape.block[0] = 32;
    const ptx::Fault fault = program.run(out, in);
    ASSERT_EQ(fault.error, 0) << fault.text;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 8; ++i) {
        const Place place = place_of_sum(lane, i, half_d);
        int sum = c_at(place.row, place.column);
        for (int k = 0; k < 4; ++k) sum += a_at(place.row + lane / 4 % 4, k) * b_at(k, place.column);
        const uint32_t word = out[static_cast<size_t>(lane * 8 + (half_d ? i / 2 : i))];
        EXPECT_EQ(half_d ? word >> 16 * (i % 2) & 0xFFFF : word, bits(half_d ? "f16" : "tf32", sum))
            << "variant " << variant << ", lane " << lane << ", i " << i;
      }
    }
  }
}

// Doubles: an element in each register. m16n8k16 has eight of A: row groupID for even i, groupID + 8 for odd
// ones, column threadID_in_group + 4 (i / 2).
TEST(PtxDeviceFragments, ProductsOfDoubles) {
  for (const int k : {4, 8, 16}) {
    const int of_a = k / 2, of_b = k / 4, all = of_a + of_b + 4;
    std::string body =
        "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 128; add.s64 %rd2, %rd2, %rd3;"
        "mul.wide.u32 %rd3, %r1, 32; add.s64 %rd1, %rd1, %rd3;\n";
    for (int n = 0; n < all; ++n)
      body += "ld.global.f64 %e" + std::to_string(n) + ", [%rd2+" + std::to_string(8 * n) + "];\n";
    body += "mma.sync.aligned.m16n8k" + std::to_string(k) + ".row.col.f64.f64.f64.f64 " +
            registers("e", of_a + of_b, 4) + ", " + registers("e", 0, of_a) + ", " +
            registers("e", of_a, of_b) + ", " + registers("e", of_a + of_b, 4) + ";\n";
    for (int n = 0; n < 4; ++n)
      body +=
          "st.global.f64 [%rd1+" + std::to_string(8 * n) + "], %e" + std::to_string(of_a + of_b + n) + ";\n";
    std::vector<double> in(32 * 16), out(32 * 4);
    for (int lane = 0; lane < 32; ++lane) {
      double* const own = &in[static_cast<size_t>(lane) * 16];
      for (int i = 0; i < of_a; ++i)
        own[i] = a_at(i % 2 == 0 ? lane >> 2 : (lane >> 2) + 8, lane % 4 + 4 * (i / 2));
      for (int i = 0; i < of_b; ++i) own[of_a + i] = b_at(lane % 4 + 4 * i, lane >> 2);
      for (int i = 0; i < 4; ++i)
        own[of_a + of_b + i] = c_at(c_of_all(lane, i).row, c_of_all(lane, i).column);
    }
    Program program(kernel(".reg .f64 %e<16>;\n" + body));
    program.launch.shape.block[0] = 32;
    const ptx::Fault fault = program.run(out, in);
    ASSERT_EQ(fault.error, 0) << fault.text;
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const Place place = c_of_all(lane, i);
        int sum = c_at(place.row, place.column);
        for (int q = 0; q < k; ++q) sum += a_at(place.row, q) * b_at(q, place.column);
        EXPECT_EQ(out[static_cast<size_t>(lane * 4 + i)], sum)
            << "k " << k << ", lane " << lane << ", i " << i;
      }
    }
  }
}

// wmma of doubles, whose fragments have no documented layout: from memory to memory.
TEST(PtxDeviceFragments, ProductsOfDoublesByWmma) {
  const std::string body =
      "wmma.load.a.sync.aligned.row.m8n8k4.global.f64 {%d1}, [%rd2], 4;\n"
      "wmma.load.b.sync.aligned.col.m8n8k4.global.f64 {%d2}, [%rd2+256], 4;\n"
      "wmma.load.c.sync.aligned.row.m8n8k4.global.f64 {%d3, %d4}, [%rd2+512], 8;\n"
      "wmma.mma.sync.aligned.row.col.m8n8k4.rn.f64.f64.f64.f64 {%d3, %d4}, {%d1}, {%d2}, {%d3, %d4};\n"
      "wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%rd1], {%d3, %d4}, 8;";
  std::vector<double> in(128), out(64);
  for (int n = 0; n < 32; ++n) in[static_cast<size_t>(n)] = a_at(n / 4, n % 4);
  for (int n = 0; n < 32; ++n) in[static_cast<size_t>(32 + n)] = b_at(n % 4, n / 4);
  for (int n = 0; n < 64; ++n) in[static_cast<size_t>(64 + n)] = c_at(n / 8, n % 8);
  Program program(kernel(body));
  program.launch.shape.block[0] = 32;
  const ptx::Fault fault = program.run(out, in);
  ASSERT_EQ(fault.error, 0) << fault.text;
  for (int n = 0; n < 64; ++n) {
    int sum = c_at(n / 8, n % 8);
    for (int k = 0; k < 4; ++k) sum += a_at(n / 8, k) * b_at(k, n % 8);
    EXPECT_EQ(out[static_cast<size_t>(n)], sum) << n;
  }
}

// ldmatrix: row r of matrix m is at the address of lane 8 m + r; a lane receives the elements 2 (lane % 4)
// and the next of row lane / 4 of each, or with .trans those rows of column lane / 4.
TEST(PtxDeviceFragments, MatricesMoveBetweenSharedMemoryAndRegisters) {
  for (const bool transposed : {false, true}) {
    const std::string trans = transposed ? ".trans" : "";
    Program program(kernel(R"(
      mov.u32 %r1, %tid.x; mov.u32 %r2, pool;
      shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, %r2;          // the lane's row of 16 bytes
      mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd2, %rd3;
      ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd4]; st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};
      bar.sync 0;
      ldmatrix.sync.aligned.m8n8.x4)" +
                               trans +
                               R"(.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];
      add.s64 %rd5, %rd1, %rd3; st.global.v4.u32 [%rd5], {%r10, %r11, %r12, %r13};
      bar.sync 0;
      stmatrix.sync.aligned.m8n8.x4)" +
                               trans + R"(.shared.b16 [%r3+512], {%r10, %r11, %r12, %r13};
      bar.sync 0;
      ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3+512]; st.global.v4.u32 [%rd5+512], {%r4, %r5, %r6, %r7};
      movmatrix.sync.aligned.m8n8.trans.b16 %r20, %r10;
      mul.wide.u32 %rd6, %r1, 4; add.s64 %rd6, %rd1, %rd6; st.global.u32 [%rd6+1024], %r20;)",
                           ".extern .shared .align 16 .b8 pool[];\n"));
    program.launch.shape.block[0] = 32;
    program.launch.shape.dynamic_shared = 1024;
    std::vector<uint16_t> in(256), out(512 + 64);
    for (size_t n = 0; n < in.size(); ++n) in[n] = static_cast<uint16_t>(1000 + n);
    const ptx::Fault fault = program.run(out, in);
    ASSERT_EQ(fault.error, 0) << fault.text;
    const auto element = [&](int matrix, int row, int column) {
      return 1000 + matrix * 64 + row * 8 + column;
    };
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < 2; ++e) {
        const int line = lane / 4, at = lane % 4 * 2 + e;
        for (int matrix = 0; matrix < 4; ++matrix)
          EXPECT_EQ(out[static_cast<size_t>(lane * 8 + matrix * 2 + e)],
                    transposed ? element(matrix, at, line) : element(matrix, line, at));
        EXPECT_EQ(out[static_cast<size_t>(512 + lane * 2 + e)],
                  transposed ? element(0, line, at) : element(0, at, line));
      }
    }
    for (size_t n = 0; n < 256; ++n) EXPECT_EQ(out[256 + n], in[n]);  // stmatrix is the inverse
  }
}

}  // namespace
}  // namespace ptx_test
