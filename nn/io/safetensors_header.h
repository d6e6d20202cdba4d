// The header of a safetensors file: JSON with the tensors' names, types, shapes and offsets.
// https://github.com/huggingface/safetensors, "Format"
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

// The types of the format: all but those of less than a byte (F4, F6_E2M3, F6_E3M2). Tensors of all of them
// are read and written as bytes, without arithmetic. Which a model can have is in nn/checkpoint.
enum class StoredType {
  f32,
  f64,
  i64,
  i32,
  u8,
  f16,
  bf16,
  boolean,  // BOOL: a byte, 0 or 1
  i8,
  u16,
  i16,
  u32,
  u64,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  c64  // two F32
};
const char* name_of(StoredType type);  // the format's spelling: "F32"
int64_t size_of(StoredType type);      // in bytes

// "F32 [20, 5, 5]"
std::string text_of(StoredType type, const std::vector<int64_t>& shape);

// Bytes of a tensor, or -1 if a dimension is negative or the product exceeds 63 bits.
int64_t bytes_of(StoredType type, const std::vector<int64_t>& shape);

struct SafetensorsHeader {
  struct Entry {
    std::string name;
    StoredType type;
    std::vector<int64_t> shape;  // row-major, outermost dimension first
    int64_t begin, end;          // in bytes, from the beginning of the data
  };
  std::map<std::string, std::string> metadata;
  std::vector<Entry> entries;
};

// A name from a file for use in a message: at most one line, control characters escaped.
std::string shown_name(std::string_view name);

// Parses a header that is followed by `data_bytes` bytes of data. Every byte of the data must belong to
// exactly one tensor. The entries are returned in the order of their data. Stricter than the format: a tensor
// has no other fields and at most 64 dimensions. Throws a bad_argument Error.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t data_bytes);

// The header as text, padded to a multiple of 8 bytes. Throws a bad_argument Error for invalid UTF-8.
std::string text_of(const SafetensorsHeader& header);

}  // namespace rondo
