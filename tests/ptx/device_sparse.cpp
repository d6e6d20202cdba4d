// mma.sp, against the figures of the PTX ISA ("Matrix Fragments for sparse mma", "Sparse matrix storage").
#include <bit>

#include "device_program.h"

namespace ptx_test {
namespace {

// A shape: k, elements of a register, and what the ISA says of its metadata. Of 16- and 32-bit types, lane t
// of those of a group that have metadata describes `columns` columns of A from t `columns` on: bits 0 to 15
// those of row lane / 4, and the others those of the row 8 on. Of the other types, the lanes in turn describe
// them in the one row and the other.
struct Shape {
  std::string shape, type;
  int k, per, lanes, columns;
  int chunk, unit;  // two of chunk / unit units of adjacent elements are not zero; of tf32 one of two
};
const Shape kShapes[] = {
    {"m16n8k16", "f16", 16, 2, 1, 16, 4, 1},  {"m16n8k32", "f16", 32, 2, 2, 16, 4, 1},
    {"m16n8k16", "bf16", 16, 2, 1, 16, 4, 1}, {"m16n8k32", "bf16", 32, 2, 2, 16, 4, 1},
    {"m16n8k8", "tf32", 8, 1, 1, 8, 2, 1},    {"m16n8k16", "tf32", 16, 1, 2, 8, 2, 1},
    {"m16n8k32", "s8", 32, 4, 2, 32, 4, 1},   {"m16n8k64", "s8", 64, 4, 4, 32, 4, 1},
    {"m16n8k64", "s4", 64, 8, 2, 64, 8, 2},   {"m16n8k128", "s4", 128, 8, 4, 64, 8, 2},
};

bool is_integer(const Shape& s) { return s.type == "s8" || s.type == "s4"; }

// The two units of a chunk that are not zero; of tf32 the first counts.
std::pair<int, int> chosen(int row, int chunk) {
  constexpr std::pair<int, int> kPairs[] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  return kPairs[(row * 5 + chunk * 7) % 6];
}
int unit_of(const Shape& s, int row, int chunk, int n) {
  const auto [first, second] = chosen(row, chunk);
  return s.type == "tf32" ? first % 2 : n == 0 ? first : second;
}
// Element n of those that are stored of a chunk: its column in A.
int column_of(const Shape& s, int row, int chunk, int n) {
  return chunk * s.chunk + unit_of(s, row, chunk, n / s.unit) * s.unit + n % s.unit;
}
int a_at(int row, int column) { return (row * 3 + column * 5) % 7 + 1; }
int b_at(int k, int column) { return (k * 5 + column * 2) % 9 - 4; }
int c_at(int row, int column) { return row * 8 + column; }

uint32_t bits(const std::string& type, int value) {
  if (type == "s4") return static_cast<uint32_t>(value & 15);
  if (type == "s8") return static_cast<uint8_t>(value);
  const uint32_t single = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (type == "tf32") return single;
  if (type == "bf16" || value == 0) return single >> 16;
  return (single >> 16 & 0x8000) | ((single >> 13 & 0x3FFFF) - (112 << 10));  // f16: the exponent's bias
}

uint32_t metadata_of(const Shape& s, int lane, int selector) {
  const int thread = lane % 4 - selector * s.lanes;
  if (thread < 0 || thread >= s.lanes) return 0xFFFFFFFF;  // not read
  uint32_t word = 0;
  const int chunks = s.columns / s.chunk;  // of a row
  const bool one_row = is_integer(s);
  for (int n = 0; n < (one_row ? chunks : 2 * chunks); ++n) {
    const int row = lane / 4 + 8 * (one_row ? thread % 2 : n / chunks);
    const int chunk = one_row ? thread / 2 * chunks + n : thread * chunks + n % chunks;
    uint32_t indices = 0;
    if (s.type == "tf32") {
      indices = unit_of(s, row, chunk, 0) == 0 ? 0b0100 : 0b1110;
    } else {
      indices = static_cast<uint32_t>(unit_of(s, row, chunk, 0) | unit_of(s, row, chunk, 1) << 2);
    }
    word |= indices << 4 * n;
  }
  return word;
}

std::string registers(const std::string& prefix, int first, int count) {
  std::string list;
  for (int n = 0; n < count; ++n) list += (n ? ", %" : "%") + prefix + std::to_string(first + n);
  return "{" + list + "}";
}

// Each lane reads A, B, C from word 8 on, and the metadata, from `in` + 16 words, and writes D to `out`.
Program program_of(const Shape& s, const std::string& modifier, int selector) {
  const int of_a = s.k / 4 / s.per, of_b = s.k / 4 / s.per;
  std::string body =
      "mov.u32 %r60, %tid.x; mul.wide.u32 %rd3, %r60, 64; add.s64 %rd2, %rd2, %rd3; mul.wide.u32 %rd3, %r60, "
      "16;"
      " add.s64 %rd1, %rd1, %rd3;\n";
  for (int n = 0; n < 13; ++n)
    body += "ld.global.b32 %r" + std::to_string(n) + ", [%rd2+" + std::to_string(4 * n) + "];\n";
  const std::string sum = is_integer(s) ? "s32" : "f32";
  body += "mma." + modifier + ".sync.aligned." + s.shape + ".row.col." + sum + "." + s.type + "." + s.type +
          "." + sum + (is_integer(s) ? ".satfinite " : " ") + registers("r", 20, 4) + ", " +
          registers("r", 0, of_a) + ", " + registers("r", 4, of_b) + ", " + registers("r", 8, 4) +
          ", %r12, " + std::to_string(selector) + ";\n";
  body += "st.global.v4.b32 [%rd1], " + registers("r", 20, 4) + ";\n";
  return Program(kernel(body));
}

std::vector<uint32_t> operands_of(const Shape& s, int selector) {
  std::vector<uint32_t> in(32 * 16);
  const int width = 32 / s.per, of_a = s.k / 4 / s.per;
  const int stored = s.type == "tf32" ? 1 : 2 * s.unit;  // of a chunk
  for (int lane = 0; lane < 32; ++lane) {
    uint32_t* const words = &in[static_cast<size_t>(lane) * 16];
    for (int r = 0; r < of_a; ++r) {
      for (int e = 0; e < s.per; ++e) {
        // A is stored with half of k: as in the dense shape with these registers.
        const int row = lane / 4 + 8 * (r % 2), at = r / 2 * 4 * s.per + lane % 4 * s.per + e;
        words[r] |= bits(s.type, a_at(row, column_of(s, row, at / stored, at % stored))) << (width * e);
        const int k = r * 4 * s.per + lane % 4 * s.per + e;
        words[4 + r] |= bits(s.type, b_at(k, lane / 4)) << (width * e);
      }
    }
    for (int i = 0; i < 4; ++i) {
      const int c = c_at(lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2);
      words[8 + i] = is_integer(s) ? static_cast<uint32_t>(c) : bits("tf32", c);
    }
    words[12] = metadata_of(s, lane, selector);
  }
  return in;
}

TEST(PtxDeviceSparse, ProductsHaveTheLayoutsOfTheIsa) {
  for (const Shape& s : kShapes) {
    for (int selector = 0; selector < 4 / s.lanes; ++selector) {
      for (const char* const modifier : {"sp", "sp::ordered_metadata"}) {
        SCOPED_TRACE(s.shape + " " + s.type + ", selector " + std::to_string(selector));
        Program program = program_of(s, modifier, selector);
        program.launch.shape.block[0] = 32;
        std::vector<uint32_t> in = operands_of(s, selector), out(32 * 4);
        const ptx::Fault fault = program.run(out, in);
        ASSERT_EQ(fault.error, 0) << fault.text;
        for (int lane = 0; lane < 32; ++lane) {
          for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            int sum = c_at(row, column);
            const int stored = s.type == "tf32" ? 1 : 2 * s.unit;
            for (int n = 0; n < s.k / s.chunk * stored; ++n) {
              const int k = column_of(s, row, n / stored, n % stored);
              sum += a_at(row, k) * b_at(k, column);
            }
            const uint32_t d = out[static_cast<size_t>(lane * 4 + i)];
            EXPECT_EQ(d, is_integer(s) ? static_cast<uint32_t>(sum) : bits("tf32", sum))
                << "lane " << lane << ", i " << i;
          }
        }
      }
    }
  }
}

// Lane 0 has the metadata of the rows 0 and 8.
TEST(PtxDeviceSparse, MetadataWithTwoElementsAtOnePlaceIsAFault) {
  for (const Shape& s : {kShapes[0], kShapes[4]}) {
    Program program = program_of(s, "sp", 0);
    program.launch.shape.block[0] = 32;
    std::vector<uint32_t> in = operands_of(s, 0), out(32 * 4);
    in[12] = (in[12] & ~15u) | 0b0101;
    const ptx::Fault fault = program.run(out, in);
    EXPECT_EQ(fault.error, kLaunchFailure);
    EXPECT_NE(fault.text.find("the indices 0x5 of row 0 from column 0 are not valid"), std::string::npos)
        << fault.text;
  }
}

TEST(PtxDeviceSparse, SelectorsThatAShapeHasNotAreNotSupported) {
  for (const Shape& s : kShapes)
    EXPECT_EQ(program_of(s, "sp", 4 / s.lanes).launch.kernel->unsupported.size(), 1u) << s.shape << s.type;
}

}  // namespace
}  // namespace ptx_test
