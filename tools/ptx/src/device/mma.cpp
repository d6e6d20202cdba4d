// mma.sync (PTX ISA 9.7.14.5): D = A B + C of a warp. The elements of a lane are those of the figures
// "fragment layout" of each shape. Operands: d, a, b, c. immediate: the type of A, variant: that of B,
// immediate2: k, elements: rows of A, option: the sums are f16; option2: .satfinite. mma.sp has the metadata
// as the last operand, and bytes is 1 + the selector.
#include <algorithm>
#include <cstring>

#include "block.h"
#include "fault.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "lexer.h"
#include "mma_sparse.h"
#include "tensor_elements.h"
#include "tensor_sums.h"

namespace ptx {
namespace {

template <class Element, class Read>
void gather(const Layout& layout, Element (*a)[kMostK], Element (*b)[kColumns], Read read) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    Element elements[kMostInWord];
    for (int r = 0; r < layout.a_registers(); ++r) {
      read(lane, r, true, elements);
      for (int e = 0; e < layout.per; ++e)
        a[layout.a_row(lane, r)][layout.a_column(lane, r) + e] = elements[e];
    }
    for (int r = 0; r < layout.b_registers(); ++r) {
      read(lane, layout.a_registers() + r, false, elements);
      for (int e = 0; e < layout.per; ++e) b[layout.b_row(lane, r) + e][layout.b_column(lane)] = elements[e];
    }
  }
}

// Sum r of a lane of C.
double sum_of_c(const Warp& warp, const Instruction& instruction, int of_c, int lane, int r) {
  if (!instruction.option) return values<float>(warp, instruction, of_c + r)[lane];
  const uint32_t pair = values<uint32_t>(warp, instruction, of_c + r / 2)[lane];
  return half_to_float(static_cast<uint16_t>(pair >> 16 * (r & 1)));
}

// Adds the products d[row][column] to C, and rounds to the type of D. With TensorSums::aligned d is the sum.
// C and D may share registers, in any order.
void store_floats(Warp& warp, const Instruction& instruction, const Layout& layout, int of_c,
                  const double (*d)[kColumns]) {
  const TensorSums rounding = warp.block->launch->launch.tensor_sums;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    double sums[4];
    for (int r = 0; r < layout.sums(); ++r) {
      const double c = rounding == TensorSums::aligned ? 0 : sum_of_c(warp, instruction, of_c, lane, r);
      sums[r] = c + d[d_row(lane, r)][d_column(lane, r)];
    }
    if (instruction.option) {
      for (int r = 0; r < layout.sums(); r += 2)
        values<uint32_t>(warp, instruction, r / 2)[lane] =
            Half::from(sums[r]) | uint32_t{Half::from(sums[r + 1])} << 16;
    } else {
      for (int r = 0; r < layout.sums(); ++r)
        values<float>(warp, instruction, r)[lane] = tensor_sum(sums[r], rounding);
    }
  }
}

void store_integers(Warp& warp, const Instruction& instruction, const Layout& layout, int of_c,
                    const double (*d)[kColumns]) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    int64_t sums[4];
    for (int r = 0; r < layout.sums(); ++r)
      sums[r] = values<int32_t>(warp, instruction, of_c + r)[lane] +
                static_cast<int64_t>(d[d_row(lane, r)][d_column(lane, r)]);
    for (int r = 0; r < layout.sums(); ++r)
      values<int32_t>(warp, instruction, r)[lane] = static_cast<int32_t>(
          instruction.option2 ? std::clamp<int64_t>(sums[r], INT32_MIN, INT32_MAX) : sums[r]);
  }
}

enum class Product { floats, integers, bits_and, bits_xor };

template <Product kProduct>
void mma(Warp& warp, const Instruction& instruction, uint32_t) {
  const Type of_a = static_cast<Type>(instruction.immediate), of_b = static_cast<Type>(instruction.variant);
  const int k = static_cast<int>(instruction.immediate2);
  const bool sparse = instruction.bytes != 0;
  const Layout layout{instruction.elements, k, elements_in_word(of_a), sparse ? k / 2 : k};
  const int first = layout.sums() / (instruction.option ? 2 : 1);
  float a[kMostRows][kMostK], b[kMostK][kColumns];
  gather(layout, a, b, [&](int lane, int r, bool is_a, float* elements) {
    unpack(is_a ? of_a : of_b, values<uint32_t>(warp, instruction, first + r)[lane], elements);
  });
  const int of_c = first + layout.a_registers() + layout.b_registers();
  for (int row = 0; sparse && row < layout.rows; ++row)
    spread_row(layout, sparsity_of(of_a), values<uint32_t>(warp, instruction, of_c + first),
               instruction.bytes - 1, row, a[row]);
  double d[kMostRows][kColumns] = {};
  if (kProduct == Product::floats && warp.block->launch->launch.tensor_sums == TensorSums::aligned) {
    for (int lane = 0; lane < kWarpSize; ++lane)
      for (int r = 0; r < layout.sums(); ++r)
        d[d_row(lane, r)][d_column(lane, r)] = sum_of_c(warp, instruction, of_c, lane, r);
    for (int row = 0; row < layout.rows; ++row)
      add_aligned_products(a[row], b[0], kColumns, layout.k, kColumns, d[row]);
    return store_floats(warp, instruction, layout, of_c, d);
  }
  for (int row = 0; row < layout.rows; ++row)
    for (int k = 0; k < layout.k; ++k)
      for (int column = 0; column < kColumns; ++column) {
        const double x = a[row][k], y = b[k][column];
        d[row][column] += kProduct == Product::bits_xor ? x + y - 2 * x * y : x * y;
      }
  if constexpr (kProduct == Product::floats) {
    store_floats(warp, instruction, layout, of_c, d);
  } else {
    store_integers(warp, instruction, layout, of_c, d);
  }
}

template <Type type>
double element_of(uint32_t word, int e) {
  if constexpr (type == Type::tf32) return tf32_operand(word);
  const uint16_t half = static_cast<uint16_t>(word >> (16 * e));
  return type == Type::bf16 ? bfloat_to_float(half) : half_to_float(half);
}

// mma<Product::floats> for the operands of most kernels, in less time: the compiler knows their sizes.
template <Type type, int k>
void mma_of(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  if (warp.block->launch->launch.tensor_sums == TensorSums::aligned)
    return mma<Product::floats>(warp, instruction, lanes);
  constexpr Layout layout{kMostRows, k, type == Type::tf32 ? 1 : 2};
  // The compiler does not find these vectors in loops.
  typedef double Row __attribute__((vector_size(kColumns * sizeof(double))));
  double a[kMostRows][k], d[kMostRows][kColumns];
  Row b[k];
  const int first = layout.sums() / (instruction.option ? 2 : 1);
  for (int r = 0; r < layout.a_registers(); ++r) {
    const uint32_t* words = values<uint32_t>(warp, instruction, first + r);
    for (int lane = 0; lane < kWarpSize; ++lane)
      for (int e = 0; e < layout.per; ++e)
        a[layout.a_row(lane, r)][layout.a_column(lane, r) + e] = element_of<type>(words[lane], e);
  }
  for (int r = 0; r < layout.b_registers(); ++r) {
    const uint32_t* words = values<uint32_t>(warp, instruction, first + layout.a_registers() + r);
    for (int lane = 0; lane < kWarpSize; ++lane)
      for (int e = 0; e < layout.per; ++e)
        b[layout.b_row(lane, r) + e][layout.b_column(lane)] = element_of<type>(words[lane], e);
  }
  for (int row = 0; row < kMostRows; ++row) {
    Row sum = {};
    for (int q = 0; q < k; ++q) sum += a[row][q] * b[q];
    std::memcpy(d[row], &sum, sizeof(sum));
  }
  store_floats(warp, instruction, layout, first + layout.a_registers() + layout.b_registers(), d);
}

// Of a shape that has_float_shape() knows.
Handler float_handler(Type type, int k) {
  switch (type) {
    case Type::tf32:
      return k == 4 ? mma_of<Type::tf32, 4> : mma_of<Type::tf32, 8>;
    case Type::f16:
      return k == 8 ? mma_of<Type::f16, 8> : mma_of<Type::f16, 16>;
    case Type::bf16:
      return k == 8 ? mma_of<Type::bf16, 8> : mma_of<Type::bf16, 16>;
    default:
      return mma<Product::floats>;
  }
}

void mma_double(Warp& warp, const Instruction& instruction, uint32_t) {
  const Layout layout{instruction.elements, static_cast<int>(instruction.immediate2), 1};
  double a[kMostRows][kMostK], b[kMostK][kColumns], d[kMostRows][kColumns];
  const int of_c = layout.sums() + layout.a_registers() + layout.b_registers();
  gather(layout, a, b, [&](int lane, int r, bool, double* element) {
    *element = values<double>(warp, instruction, layout.sums() + r)[lane];
  });
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (int r = 0; r < layout.sums(); ++r)
      d[d_row(lane, r)][d_column(lane, r)] = values<double>(warp, instruction, of_c + r)[lane];
  for (int row = 0; row < layout.rows; ++row)
    for (int column = 0; column < kColumns; ++column)
      for (int k = 0; k < layout.k; ++k) d[row][column] = std::fma(a[row][k], b[k][column], d[row][column]);
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (int r = 0; r < layout.sums(); ++r)
      values<double>(warp, instruction, r)[lane] = d[d_row(lane, r)][d_column(lane, r)];
}

bool is_one_of(int k, std::initializer_list<int> values) {
  return std::find(values.begin(), values.end(), k) != values.end();
}

// Shapes with 8-bit, 4-bit and 1-bit integers: m8n8 of the smallest k, m16n8 of it and of twice it.
bool has_integer_shape(Type type, int rows, int k) {
  const int least = 4 * elements_in_word(type);
  return rows == 8 ? k == least : k == least || k == 2 * least;
}

bool has_float_shape(Type type, int rows, int k) {
  switch (type) {
    case Type::tf32:
      return rows == 16 && is_one_of(k, {4, 8});
    case Type::f16:
    case Type::bf16:
      return rows == 16 && is_one_of(k, {8, 16});
    default:
      return rows == 16 && is_one_of(k, {16, 32});
  }
}

bool is_integer(Type type) {
  return type == Type::s8 || type == Type::u8 || type == Type::s4 || type == Type::u4;
}
bool is_byte_float(Type type) { return type == Type::e4m3 || type == Type::e5m2; }

// stored_k: the k of the registers of A. Sparse products have the shapes of the dense ones with these
// registers, and 16 rows.
Handler handler_of(const Draft& draft, Type d, Type a, Type b, int stored_k) {
  const int rows = draft.instruction.elements, k = stored_k;
  const bool sparse = k != draft.instruction.immediate2;
  if (sparse && (rows != 16 || sparsity_of(a).chunk == 0)) return nullptr;
  if (a == Type::f64)
    return rows == 8 ? (k == 4 ? mma_double : nullptr) : is_one_of(k, {4, 8, 16}) ? mma_double : nullptr;
  if (elements_in_word(a) == 0 || elements_in_word(a) != elements_in_word(b)) return nullptr;
  if (d == Type::s32) {
    if (!(is_integer(a) && is_integer(b)) && !(a == Type::b1 && b == Type::b1)) return nullptr;
    if (!has_integer_shape(a, rows, k)) return nullptr;
    if (a != Type::b1) return mma<Product::integers>;
    return draft.has("xor") ? mma<Product::bits_xor> : draft.has("and") ? mma<Product::bits_and> : nullptr;
  }
  const bool floats =
      is_byte_float(a) ? is_byte_float(b) : a == b && (a == Type::f16 || a == Type::bf16 || a == Type::tf32);
  const bool sums = d == Type::f32 || (d == Type::f16 && (a == Type::f16 || is_byte_float(a)));
  if (!floats || !sums || !has_float_shape(a, rows, k)) return nullptr;
  return sparse ? mma<Product::floats> : float_handler(a, k);
}

bool add_fragments(Decoder& decoder, Draft& draft, size_t expected, int bytes) {
  for (const std::string_view text : elements_of(draft.arguments.at(0))) draft.add(decoder.destination(text));
  for (size_t n = 1; n < 4; ++n)
    for (const std::string_view text : elements_of(draft.arguments.at(n)))
      draft.add(decoder.source(text, bytes));
  return draft.operands.size() == expected;
}

// The metadata and the selector of mma.sp.
bool add_metadata(Decoder& decoder, Draft& draft, const Layout& layout, Type type) {
  uint64_t selector = 0;
  const int lanes = lanes_with_metadata(layout, sparsity_of(type));
  if (!parse_number(draft.arguments.at(5), 4, &selector) || selector >= 4u / static_cast<unsigned>(lanes))
    return false;
  draft.instruction.bytes = static_cast<uint8_t>(1 + selector);
  draft.add(decoder.source(draft.arguments.at(4), 4));
  return true;
}

}  // namespace

// mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype, and .xor.popc or .and.popc behind it; mma.sp.sync
// and mma.sp::ordered_metadata.sync, whose indices ascend. ptxas takes .satfinite before and behind the
// types.
bool decode_mma(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  converge_all(draft);
  if (draft.has("m8n8k4") && draft.type() != Type::f64) return decode_mma_quads(decoder, draft);
  if (!draft.has("row") || !draft.has("col") || draft.parts.size() < 9) return false;
  std::vector<Type> types;
  for (const std::string_view part : draft.parts)
    if (const Type type = type_named(part); type != Type::none) types.push_back(type);
  if (types.size() != 4) return false;
  const bool sparse = draft.parts[1].starts_with("sp");
  std::string_view shape = draft.parts[sparse ? 4 : 3];
  const Type d = types[0], a = types[1], b = types[2], c = types[3];
  const bool of_16 = shape.starts_with("m16n8k");
  if (c != d || !(of_16 || shape.starts_with("m8n8k"))) return false;
  shape.remove_prefix(of_16 ? 6 : 5);
  int k = 0;
  take_number(shape, &k);
  instruction.elements = of_16 ? 16 : 8;
  instruction.immediate = static_cast<int64_t>(a);
  instruction.immediate2 = k;
  instruction.variant = static_cast<uint8_t>(b);
  instruction.option = d == Type::f16;
  instruction.option2 = draft.has("satfinite");
  instruction.run = handler_of(draft, d, a, b, sparse ? k / 2 : k);
  if (!instruction.run) return false;
  const bool doubles = a == Type::f64;
  const Layout layout{instruction.elements, k, doubles ? 1 : elements_in_word(a), sparse ? k / 2 : k};
  const int sums = 2 * layout.sums() / (instruction.option ? 2 : 1);
  return add_fragments(decoder, draft,
                       static_cast<size_t>(sums + layout.a_registers() + layout.b_registers()),
                       doubles ? 8 : 4) &&
         (!sparse || add_metadata(decoder, draft, layout, a));
}

}  // namespace ptx
