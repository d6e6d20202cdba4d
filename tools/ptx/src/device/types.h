// Types of instructions (PTX ISA, section "Types").
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx {

enum class Type : uint8_t {
  u8,
  s8,
  b8,
  u4,
  s4,
  b1,
  u16,
  s16,
  b16,
  u32,
  s32,
  b32,
  u64,
  s64,
  b64,
  b128,
  u16x2,
  s16x2,
  pred,
  f16,
  bf16,
  tf32,
  f32,
  f64,
  f16x2,
  bf16x2,
  f32x2,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  none,
};

Type type_named(std::string_view name);  // none: it is no type

int type_bytes(Type type);  // 0: a predicate
bool is_float(Type type);   // including the packed ones
bool is_signed(Type type);  // an integer

// Bytes of a lane in the register for a value of this type: an 8-bit value takes 16 bits. 0: a predicate.
int register_bytes(Type type);
// The same for a name; -1: it is no type.
int register_bytes(std::string_view name);

}  // namespace ptx
