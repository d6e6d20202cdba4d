#include "types.h"

#include <algorithm>

namespace ptx {
namespace {

struct Row {
  std::string_view name;
  Type type;
  int bytes;
};

constexpr Row kTypes[] = {
    {"u8", Type::u8, 1},         {"s8", Type::s8, 1},         {"b8", Type::b8, 1},
    {"u4", Type::u4, 1},         {"s4", Type::s4, 1},         {"b1", Type::b1, 1},
    {"u16", Type::u16, 2},       {"s16", Type::s16, 2},       {"b16", Type::b16, 2},
    {"u32", Type::u32, 4},       {"s32", Type::s32, 4},       {"b32", Type::b32, 4},
    {"u64", Type::u64, 8},       {"s64", Type::s64, 8},       {"b64", Type::b64, 8},
    {"b128", Type::b128, 16},    {"pred", Type::pred, 0},     {"f16", Type::f16, 2},
    {"bf16", Type::bf16, 2},     {"tf32", Type::tf32, 4},     {"f32", Type::f32, 4},
    {"f64", Type::f64, 8},       {"f16x2", Type::f16x2, 4},   {"bf16x2", Type::bf16x2, 4},
    {"f32x2", Type::f32x2, 8},   {"e4m3", Type::e4m3, 1},     {"e5m2", Type::e5m2, 1},
    {"e4m3x2", Type::e4m3x2, 2}, {"e5m2x2", Type::e5m2x2, 2}, {"u16x2", Type::u16x2, 4},
    {"s16x2", Type::s16x2, 4},
};

}  // namespace

Type type_named(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Row& row) { return row.name == name; });
  return found == std::end(kTypes) ? Type::none : found->type;
}

int type_bytes(Type type) {
  const auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Row& row) { return row.type == type; });
  return found == std::end(kTypes) ? -1 : found->bytes;
}

bool is_float(Type type) { return type >= Type::f16 && type < Type::none; }

bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

int register_bytes(Type type) {
  const int bytes = type_bytes(type);
  return bytes == 1 ? 2 : bytes;
}

int register_bytes(std::string_view name) {
  const Type type = type_named(name);
  return type == Type::none ? -1 : register_bytes(type);
}

}  // namespace ptx
